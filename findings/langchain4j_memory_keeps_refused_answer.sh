#!/usr/bin/env bash
# langchain4j 1.19.0 (Java), AiServices: the chat memory is meant to hold what the model said,
# not what an output guardrail makes of that, and so a rewritten answer is not in it. But where
# the guardrail asks for another answer, by retry() or reprompt(), the memory has not what the
# model said either: the refused answer stays, and the one that the caller is given is not
# kept, nor are the calls and results of the tools that ran for it. In the next turn the model
# is shown an answer that nobody read, knows nothing of the one that was read, and may run the
# tools again. (What an input guardrail rewrites is kept as rewritten.)
#
# Seen: the answer that is returned, how often the tool ran, and what the memory holds, by
# what the guardrail does with the first answer.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
cat >"$WORK/pom.xml" <<'XML'
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>shows</groupId><artifactId>shows</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>dev.langchain4j</groupId><artifactId>langchain4j</artifactId>
      <version>1.19.0</version>
    </dependency>
  </dependencies>
</project>
XML
mvn -q -B -f "$WORK/pom.xml" -Dmaven.repo.local="$WORK/m2" \
  org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
  -DoutputDirectory="$WORK/lib" >&2
cat >"$WORK/Shows.java" <<'JAVA'
import dev.langchain4j.agent.tool.Tool;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.*;
import dev.langchain4j.guardrail.OutputGuardrail;
import dev.langchain4j.guardrail.OutputGuardrailResult;
import dev.langchain4j.memory.chat.MessageWindowChatMemory;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.service.AiServices;
import java.util.function.BiFunction;
import java.util.stream.Collectors;

class Shows {
  interface Assistant {
    String chat(String text);
  }

  interface Decides extends BiFunction<Guard, Integer, OutputGuardrailResult> {}

  static class Scripted implements ChatModel {
    int asked = 0;

    public ChatResponse doChat(ChatRequest request) {
      var call = ToolExecutionRequest.builder().id("1").name("look").arguments("{}").build();
      AiMessage[] script = {AiMessage.from("bad"), AiMessage.from(call), AiMessage.from("good")};
      return ChatResponse.builder().aiMessage(script[asked++]).build();
    }
  }

  static class Looks {
    int ran = 0;

    @Tool
    public String look() {
      return "seen " + ++ran;
    }
  }

  static class Guard implements OutputGuardrail {
    final Decides decides;
    int seen = 0;

    Guard(Decides decides) {
      this.decides = decides;
    }

    public OutputGuardrailResult validate(AiMessage answer) {
      return seen++ == 0 ? decides.apply(this, seen) : success();
    }
  }

  static String brief(ChatMessage message) {
    if (message instanceof UserMessage said) return said.singleText();
    if (message instanceof AiMessage answer && answer.text() != null) return answer.text();
    return message.type().toString();
  }

  static void shows(String what, Decides decides) {
    var memory = MessageWindowChatMemory.withMaxMessages(9);
    var tools = new Looks();
    var assistant = AiServices.builder(Assistant.class).chatModel(new Scripted())
        .chatMemory(memory).tools(tools).outputGuardrails(new Guard(decides)).build();
    var returned = assistant.chat("hi");
    var kept = memory.messages().stream().map(Shows::brief).collect(Collectors.joining(", "));
    var run = ": returned " + returned + ", looked " + tools.ran + ", kept " + kept;
    System.out.println(what + run);
  }

  public static void main(String[] none) {
    shows("retry", (guard, n) -> guard.retry("no"));
    shows("reprompt", (guard, n) -> guard.reprompt("no", "say it better"));
    shows("rewrite", (guard, n) -> guard.successWith("masked"));
  }
}
JAVA
SEEN=$(java -cp "$WORK/lib/*" "$WORK/Shows.java" 2>/dev/null)
echo "$SEEN"
test "$SEEN" = "retry: returned good, looked 1, kept hi, bad
reprompt: returned good, looked 1, kept hi, bad
rewrite: returned masked, looked 0, kept hi, bad"
