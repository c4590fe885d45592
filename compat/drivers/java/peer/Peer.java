package driver;

import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.function.UnaryOperator;

/** This end of the connection. One thread: while it waits for its own call, it answers those of the harness. */
public final class Peer {
    static final ObjectMapper JSON =
            JsonMapper.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build();

    private final BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    private final OutputStream out = new BufferedOutputStream(System.out, 1 << 16);
    private final Map<String, UnaryOperator<ObjectNode>> functions;
    private final Map<Integer, JsonNode> replies = new HashMap<>();
    private int last;

    /** Takes the output for frames; what else is printed goes to the log. */
    Peer(Map<String, UnaryOperator<ObjectNode>> functions) {
        this.functions = functions;
        System.setOut(new PrintStream(System.err, true));
    }

    static ObjectNode object() {
        return JSON.createObjectNode();
    }

    /** Answers until the harness asks for the end, or closes its own. */
    void serve() throws IOException {
        for (JsonNode frame = read(); frame != null; frame = read()) {
            take(frame);
            if (frame.path("method").asText().equals("shutdown")) break;
        }
        out.flush();
    }

    void tell(String method, ObjectNode params) {
        ObjectNode frame = object().put("jsonrpc", "2.0").put("method", method);
        write(frame.set("params", params));
    }

    /** Asks the harness, and answers what it asks meanwhile; throws Failed, or Cancelled. */
    JsonNode call(String method, ObjectNode params) {
        int number = ++last;
        ObjectNode frame = object().put("jsonrpc", "2.0").put("id", number).put("method", method);
        write(frame.set("params", params));
        while (!replies.containsKey(number)) {
            JsonNode next = read();
            if (next == null) throw new Failed.Cancelled();
            take(next);
        }
        JsonNode reply = replies.remove(number);
        JsonNode error = reply.get("error");
        if (error == null) return reply.get("result");
        ObjectNode data = (ObjectNode) (error.has("data") ? error.get("data") : object());
        if (data.path("kind").asText().equals("cancelled")) throw new Failed.Cancelled();
        throw new Failed(error.path("message").asText(), data);
    }

    /** Gives up the call that waits for an answer, which is then that it was cancelled. */
    void abandon(int agent) {
        tell("abandon", object().put("agent", agent).put("call", last));
    }

    private void take(JsonNode frame) {
        if (!frame.has("method")) {
            replies.put(frame.get("id").asInt(), frame);
            return;
        }
        ObjectNode reply = object().put("jsonrpc", "2.0");
        String method = frame.get("method").asText();
        UnaryOperator<ObjectNode> function = functions.get(method);
        try {
            if (function == null) throw new UnsupportedOperationException("there is no method " + method);
            ObjectNode result = function.apply((ObjectNode) frame.get("params"));
            reply.set("result", result == null ? object() : result);
        } catch (RuntimeException | Failed.Cancelled error) {
            ObjectNode told = Failed.told(error);
            reply.set("error", function == null ? told.put("code", -32601) : told);
        }
        if (frame.has("id")) write(reply.set("id", frame.get("id")));
    }

    private JsonNode read() {
        try {
            if (!in.ready()) out.flush();
            String line = in.readLine();
            return line == null ? null : JSON.readTree(line);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private void write(JsonNode frame) {
        try {
            out.write(JSON.writeValueAsBytes(frame));
            out.write('\n');
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
