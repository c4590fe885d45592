package driver;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.agent.tool.ReturnBehavior;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.memory.chat.MessageWindowChatMemory;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ChatRequestParameters;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.observability.api.event.AiServiceResponseReceivedEvent;
import dev.langchain4j.observability.api.listener.AiServiceResponseReceivedListener;
import dev.langchain4j.service.AiServices;
import dev.langchain4j.service.Result;
import dev.langchain4j.service.tool.HallucinatedToolNameStrategy;
import dev.langchain4j.service.tool.ToolExecutor;
import dev.langchain4j.service.tool.ToolProviderResult;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/** An agent: an AI Service, whose chat is a run. */
final class ServiceAgent implements Driver.Agent {
    /** The service, as a user writes one down. */
    interface Chat {
        Result<String> chat(@dev.langchain4j.service.UserMessage String text);
    }

    private static final String HISTORY = "before_model_rewrite_history";

    private final Harness harness;
    private final ObjectNode config;
    private final Messages told = new Messages();
    private final ChatModel model;

    ServiceAgent(Harness harness, ObjectNode config) {
        this.harness = harness;
        this.config = config;
        if (config.get("max_iterations").asInt() < 1) throw new IllegalArgumentException("no fewer than 1 round trip");
        ChatModel wrapped = new HarnessModel();
        for (int at : with("wrap_model_call").boxed().sorted((a, b) -> b - a).toList()) {
            wrapped = new WrappedModel(at, wrapped);
        }
        model = wrapped;
    }

    /** Returns the places of the handlers that have a hook, the first of them first. */
    private IntStream with(String hook) {
        JsonNode handlers = config.get("handlers");
        return IntStream.range(0, handlers.size()).filter(at -> {
            for (JsonNode each : handlers.get(at)) if (each.asText().equals(hook)) return true;
            return false;
        });
    }

    @Override
    public void run(ObjectNode asked, Consumer<ObjectNode> events) {
        List<ChatMessage> given = told.read(asked.get("messages"));
        String question = told.question(given);
        // Without the option it stands behind what is given, in the middle of the history.
        MessageWindowChatMemory memory = MessageWindowChatMemory.builder()
                .maxMessages(Integer.MAX_VALUE)
                .alwaysKeepSystemMessageFirst(true)
                .build();
        given.forEach(memory::add);
        try {
            service(memory, new Begun(), events).chat(question);
        } catch (RuntimeException error) {
            throw told(error);
        }
    }

    private Chat service(MessageWindowChatMemory memory, Begun begun, Consumer<ObjectNode> events) {
        return AiServices.builder(Chat.class)
                .chatModel(model)
                .chatMemory(memory)
                .systemMessageTransformer(begun::instruction)
                .toolProvider(request -> begun.tools())
                .chatRequestTransformer(this::prepared)
                .maxToolCallingRoundTrips(config.get("max_iterations").asInt())
                .hallucinatedToolNameStrategy(this::unknown)
                .afterToolExecution(done -> events.accept(event(result(done.request(), done.result()))))
                .registerListener((AiServiceResponseReceivedListener) received -> events.accept(event(answer(received))))
                .build();
    }

    private AiMessage answer(AiServiceResponseReceivedEvent received) {
        return received.response().aiMessage();
    }

    private static ToolExecutionResultMessage result(ToolExecutionRequest request, String text) {
        return ToolExecutionResultMessage.from(request, text);
    }

    private ObjectNode event(ChatMessage message) {
        ObjectNode said = told.tellOne(message);
        ObjectNode event = Peer.object().put("role", said.get("role").asText());
        return event.set("message", said);
    }

    private static RuntimeException told(RuntimeException error) {
        boolean over = String.valueOf(error.getMessage()).contains("(maxToolCallingRoundTrips)");
        return over ? Failed.of("max_iterations", error.getMessage(), error) : error;
    }

    private ToolExecutionResultMessage unknown(ToolExecutionRequest call) {
        if (config.get("unknown_tools_handler").asBoolean()) {
            return result(call, harness.unknownTool(call.name(), call.id(), call.arguments()));
        }
        try {
            return HallucinatedToolNameStrategy.THROW_EXCEPTION.apply(call);
        } catch (RuntimeException error) {
            throw Failed.of("unknown_tool", "tool " + call.name() + " not found", error);
        }
    }

    /** Lets the handlers rewrite what is sent, for this call alone. */
    private ChatRequest prepared(ChatRequest request) {
        ArrayNode messages = told.tell(request.messages());
        JsonNode left = messages;
        for (int at : with(HISTORY).toArray()) {
            left = harness.hook(at, HISTORY, Peer.object().set("messages", left)).get("messages");
        }
        return left == messages ? request : sending(request, messages, left).build();
    }

    /** Returns a request with the messages that are left; where there were none to be told of, with its own. */
    private ChatRequest.Builder sending(ChatRequest request, JsonNode messages, JsonNode left) {
        boolean nothing = messages.isEmpty() && left.isEmpty();
        return nothing ? request.toBuilder() : request.toBuilder().messages(told.read(left));
    }

    private static ArrayNode infos(List<ToolSpecification> tools) {
        ArrayNode told = Peer.JSON.createArrayNode();
        for (ToolSpecification each : tools == null ? List.<ToolSpecification>of() : tools) {
            told.add(Peer.object().put("name", each.name()).put("description", each.description()));
        }
        return told;
    }

    /** What the handlers make of the agent's configuration, once a run: instruction, tools, what returns directly. */
    private final class Begun {
        private ObjectNode made;

        private ObjectNode made() {
            if (made != null) return made;
            ObjectNode edited = Peer.object().put("instruction", config.get("instruction").asText());
            edited.set("tools", config.get("tools"));
            edited.set("return_directly", Peer.object());
            for (int at : with("before_agent").toArray()) {
                edited = folded(harness.hook(at, "before_agent", edited).without(List.of("ctx")));
            }
            made = edited;
            return edited;
        }

        /** Returns what a handler left with one tool of a name, the last, and no flag of a tool that is not there. */
        private static ObjectNode folded(ObjectNode left) {
            Map<String, JsonNode> named = new LinkedHashMap<>();
            left.get("tools").forEach(each -> named.put(each.get("name").asText(), each));
            left.putArray("tools").addAll(named.values());
            ((ObjectNode) left.get("return_directly")).retain(named.keySet());
            return left;
        }

        String instruction(String none) {
            String text = made().get("instruction").asText();
            return text.isEmpty() ? none : text;
        }

        ToolProviderResult tools() {
            ToolProviderResult.Builder tools = ToolProviderResult.builder();
            for (JsonNode each : made().get("tools")) {
                ToolSpecification.Builder spec = ToolSpecification.builder().name(each.get("name").asText());
                int number = each.get("tool").asInt();
                ToolExecutor calls = (call, id) -> harness.tool(number, call.id(), call.arguments());
                ReturnBehavior returns = isDirect(each.get("name").asText()) ? ReturnBehavior.IMMEDIATE : ReturnBehavior.TO_LLM;
                tools.add(spec.description(each.get("description").asText()).build(), calls, returns);
            }
            return tools.build();
        }

        /** Tells whether a tool's result ends the run: a handler's word counts, and the configuration's where there is none. */
        private boolean isDirect(String name) {
            JsonNode said = made().get("return_directly").path(name);
            return (said.isMissingNode() ? config.get("return_directly").path(name) : said).asBoolean();
        }
    }

    /** The model of the harness. */
    private final class HarnessModel implements ChatModel {
        @Override
        public ChatResponse doChat(ChatRequest request) {
            ObjectNode answer = harness.model(told.tell(request.messages()), infos(request.toolSpecifications()));
            return response(answer);
        }
    }

    private ChatResponse response(ObjectNode answer) {
        return ChatResponse.builder().aiMessage((AiMessage) told.readOne(answer)).build();
    }

    /** A model with a handler's wrapper around it, as users decorate models. */
    private final class WrappedModel implements ChatModel {
        private final int handler;
        private final ChatModel inner;

        WrappedModel(int handler, ChatModel inner) {
            this.handler = handler;
            this.inner = inner;
        }

        @Override
        public ChatResponse doChat(ChatRequest request) {
            ObjectNode given = Peer.object().put("streaming", false);
            given.set("messages", told.tell(request.messages()));
            given.set("tools", infos(request.toolSpecifications()));
            JsonNode messages = given.get("messages");
            return response(harness.around(handler, "wrap_model_call", given, next -> passed(request, messages, next)));
        }

        private ObjectNode passed(ChatRequest request, JsonNode messages, ObjectNode next) {
            ChatRequest.Builder asked = sending(request, messages, next.get("messages"));
            // Of the request's own tools an empty list would change nothing.
            if (next.has("tools")) asked.parameters(with(request, left(request, next.get("tools"))));
            return told.tellOne(inner.chat(asked.build()).aiMessage());
        }

        private static ChatRequestParameters with(ChatRequest request, List<ToolSpecification> tools) {
            return ChatRequestParameters.builder()
                    .overrideWith(request.parameters())
                    .toolSpecifications(tools)
                    .build();
        }

        private static List<ToolSpecification> left(ChatRequest request, JsonNode names) {
            Set<String> wanted = new HashSet<>();
            names.forEach(each -> wanted.add(each.asText()));
            return request.toolSpecifications().stream().filter(each -> wanted.contains(each.name())).toList();
        }
    }
}
