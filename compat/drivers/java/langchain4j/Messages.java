package driver;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.SystemMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/** Messages as LangChain4j has them, and back. One that comes back as a number is the very same. */
final class Messages {
    /** What a service is asked with where a run is given no question: the harness is not told of it. */
    private static final String NOTHING = "(nothing)";

    private static final List<String> MORE = List.of("id", "name", "extra");

    private final List<ChatMessage> numbered = new ArrayList<>();
    private final Map<ChatMessage, Integer> numbers = new IdentityHashMap<>();
    /** What LangChain4j has no place for in a message. */
    private final Map<ChatMessage, ObjectNode> kept = new IdentityHashMap<>();
    /** The question that a run was given, of which a service is told the text alone. */
    private UserMessage question;
    /** Whether there was one. */
    private boolean asks;

    List<ChatMessage> read(JsonNode told) {
        List<ChatMessage> read = new ArrayList<>();
        for (JsonNode each : told) read.add(readOne(each));
        return read;
    }

    ChatMessage readOne(JsonNode told) {
        if (told.has("ref") && told.size() == 1) return numbered.get(told.get("ref").asInt() - 1);
        ChatMessage made = made(told);
        ObjectNode more = Peer.object();
        MORE.stream().filter(told::has).forEach(name -> more.set(name, told.get(name)));
        if (!more.isEmpty()) kept.put(made, more);
        return made;
    }

    private static ChatMessage made(JsonNode told) {
        String content = told.path("content").asText();
        return switch (told.get("role").asText()) {
            case "system" -> new SystemMessage(content);
            case "user" -> UserMessage.from(content);
            case "tool" -> result(told, content);
            default -> AiMessage.builder().text(content).toolExecutionRequests(calls(told)).build();
        };
    }

    private static ChatMessage result(JsonNode told, String content) {
        String id = told.path("tool_call_id").asText();
        return ToolExecutionResultMessage.from(id, told.path("name").asText(null), content);
    }

    private static List<ToolExecutionRequest> calls(JsonNode told) {
        List<ToolExecutionRequest> calls = new ArrayList<>();
        for (JsonNode each : told.path("tool_calls")) {
            ToolExecutionRequest.Builder call = ToolExecutionRequest.builder();
            call.id(each.get("id").asText()).name(each.get("name").asText());
            calls.add(call.arguments(each.get("arguments").asText()).build());
        }
        return calls;
    }

    /** Takes the question that comes last from what a run is given, and returns its text. */
    String question(List<ChatMessage> given) {
        asks = !given.isEmpty() && given.get(given.size() - 1) instanceof UserMessage;
        question = asks ? (UserMessage) given.remove(given.size() - 1) : UserMessage.from(NOTHING);
        return question.singleText();
    }

    ArrayNode tell(List<ChatMessage> messages) {
        ArrayNode told = Peer.JSON.createArrayNode();
        for (ChatMessage each : messages) {
            ChatMessage known = known(each);
            if (asks || known != question) told.add(tellOne(known));
        }
        return told;
    }

    /** Returns the question of the run where it was made anew of its text. */
    private ChatMessage known(ChatMessage message) {
        boolean isNew = message instanceof UserMessage && !numbers.containsKey(message);
        return isNew && ((UserMessage) message).singleText().equals(question.singleText()) ? question : message;
    }

    ObjectNode tellOne(ChatMessage message) {
        int number = numbers.computeIfAbsent(message, each -> {
            numbered.add(each);
            return numbered.size();
        });
        ObjectNode told = Peer.object().put("ref", number);
        if (message instanceof SystemMessage said) {
            told.put("role", "system").put("content", said.text());
        } else if (message instanceof UserMessage said) {
            told.put("role", "user").put("content", said.singleText());
        } else if (message instanceof ToolExecutionResultMessage said) {
            told.put("role", "tool").put("content", said.text());
            told.put("tool_call_id", said.id());
            if (said.toolName() != null) told.put("name", said.toolName());
        } else if (message instanceof AiMessage said) {
            told.put("role", "assistant").put("content", said.text() == null ? "" : said.text());
            said.toolExecutionRequests().forEach(each -> told.withArray("tool_calls").add(call(each)));
        }
        return told.setAll(kept.getOrDefault(message, Peer.object()));
    }

    private static ObjectNode call(ToolExecutionRequest call) {
        ObjectNode told = Peer.object().put("id", call.id()).put("name", call.name());
        return told.put("arguments", call.arguments());
    }
}
