#!/usr/bin/env bash
# dev.langchain4j:langchain4j 1.19.0: maxToolCallingRoundTrips is counted where an answer is
# looked at, and not where the model is asked. With a limit of 1 the model is asked twice:
# its second answer, be it the final one, is paid for and thrown away by the error that the
# limit was exceeded. A conversation with one tool call needs a limit of 2, although only one
# trip goes to a tool. The tool has run by then, and its result stays in the chat memory
# behind the error, without the answer.
#
# Seen: how often the model was asked and the tool ran, what came out, and the kinds of
# messages that the memory holds afterwards, by the limit.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
cd "$WORK"
cat >pom.xml <<'XML'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>shown</groupId><artifactId>shown</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>dev.langchain4j</groupId><artifactId>langchain4j</artifactId><version>1.19.0</version>
    </dependency>
  </dependencies>
</project>
XML
mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies -DoutputDirectory=lib >&2
cat >Shows.java <<'JAVA'
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.memory.chat.MessageWindowChatMemory;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.service.AiServices;
import dev.langchain4j.service.tool.ToolExecutor;
import java.util.List;
import java.util.Map;

public class Shows {
    interface Chat {
        String chat(String text);
    }

    public static void main(String[] arguments) {
        for (int limit : List.of(1, 2)) {
            int[] counted = new int[2];
            ChatModel model = new ChatModel() {
                @Override
                public ChatResponse doChat(ChatRequest request) {
                    ToolExecutionRequest call = ToolExecutionRequest.builder().id("1").name("pay").arguments("{}").build();
                    AiMessage said = counted[0]++ == 0 ? AiMessage.from(call) : AiMessage.from("paid");
                    return ChatResponse.builder().aiMessage(said).build();
                }
            };
            ToolExecutor pay = (request, id) -> "receipt " + ++counted[1];
            MessageWindowChatMemory memory = MessageWindowChatMemory.withMaxMessages(99);
            String out;
            try {
                out = AiServices.builder(Chat.class)
                        .chatModel(model)
                        .chatMemory(memory)
                        .tools(Map.of(ToolSpecification.builder().name("pay").build(), pay))
                        .maxToolCallingRoundTrips(limit)
                        .build()
                        .chat("pay");
            } catch (RuntimeException error) {
                out = error.getMessage().replaceAll(".*exceeded", "exceeded");
            }
            System.out.printf("limit %d: asked %d, ran %d, %s%n", limit, counted[0], counted[1], out);
            System.out.println("  memory: " + memory.messages().stream().map(each -> each.type().name()).toList());
        }
    }
}
JAVA
javac -cp 'lib/*' Shows.java
java -cp '.:lib/*' Shows 2>/dev/null | tee shown
diff shown - <<'SEEN'
limit 1: asked 2, ran 1, exceeded 1 tool calling round trips (maxToolCallingRoundTrips)
  memory: [USER, AI, TOOL_EXECUTION_RESULT]
limit 2: asked 2, ran 1, paid
  memory: [USER, AI, TOOL_EXECUTION_RESULT, AI]
SEEN
