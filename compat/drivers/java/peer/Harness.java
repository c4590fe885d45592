package driver;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/** What an agent asks of the harness: its model, its tools and its hooks. */
public final class Harness {
    final int agent;
    private final Peer peer;
    private final List<Function<ObjectNode, ObjectNode>> inner = new ArrayList<>();
    private int context;

    Harness(Peer peer, int agent) {
        this.peer = peer;
        this.agent = agent;
    }

    /** Does something in a context of the harness. */
    public <T> T within(int context, java.util.function.Supplier<T> work) {
        int before = this.context;
        this.context = context;
        try {
            return work.get();
        } finally {
            this.context = before;
        }
    }

    /** Asks the model for a whole answer. */
    public ObjectNode model(JsonNode messages, JsonNode tools) {
        ObjectNode params = params().put("mode", "invoke");
        params.set("messages", messages);
        params.set("tools", tools);
        return (ObjectNode) peer.call("model", params);
    }

    /** Calls a tool. */
    public String tool(int tool, String callId, String arguments) {
        ObjectNode params = params().put("tool", tool).put("mode", "invoke");
        return result(peer.call("tool", params.put("call_id", callId).put("arguments", arguments)));
    }

    /** Asks what answers a call of a tool that is not there. */
    public String unknownTool(String name, String callId, String arguments) {
        ObjectNode params = params().put("name", name).put("call_id", callId);
        return result(peer.call("unknown_tool", params.put("arguments", arguments)));
    }

    private static String result(JsonNode told) {
        return told.get("result").asText();
    }

    /** Enters a hook; what else it is given stands in {@code given}. */
    public ObjectNode hook(int handler, String hook, ObjectNode given) {
        ObjectNode params = params().put("handler", handler).put("hook", hook);
        return (ObjectNode) peer.call("hook", params.setAll(given));
    }

    /** Enters a hook that wraps a call, which goes on by {@code next}. */
    public ObjectNode around(int handler, String hook, ObjectNode given, UnaryOperator<ObjectNode> next) {
        inner.add(asked -> within(asked.path("ctx").asInt(), () -> next.apply(asked)));
        int token = inner.size();
        try {
            return hook(handler, hook, given.put("token", token));
        } finally {
            inner.set(token - 1, null);
        }
    }

    ObjectNode next(ObjectNode asked) {
        return inner.get(asked.get("token").asInt() - 1).apply(asked);
    }

    void tell(int run, String name, ObjectNode event) {
        peer.tell("event", event.put("agent", agent).put("run", run).put("name", name));
    }

    void abandon() {
        peer.abandon(agent);
    }

    private ObjectNode params() {
        return Peer.object().put("agent", agent).put("ctx", context);
    }
}
