package driver;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

/** An error that keeps what the harness knows it by: a number of its own, or a kind of the engine's. */
public final class Failed extends RuntimeException {
    final transient ObjectNode data;

    Failed(String message, ObjectNode data) {
        super(message);
        this.data = data;
    }

    /** Returns an error of an engine, which says by its kind what it is. */
    public static Failed of(String kind, String message, Throwable cause) {
        Failed made = new Failed(message, JsonNodeFactory.instance.objectNode().put("kind", kind));
        made.initCause(cause);
        return made;
    }

    /** Returns what the harness is told of an error: that of the harness which it came from, if there is one. */
    static ObjectNode told(Throwable error) {
        Failed known = in(error);
        ObjectNode data = known == null ? JsonNodeFactory.instance.objectNode() : known.data;
        ObjectNode told = JsonNodeFactory.instance.objectNode().put("code", -32000);
        told.put("message", String.valueOf((known == null ? error : known).getMessage()));
        return told.set("data", data);
    }

    private static Failed in(Throwable error) {
        for (Throwable each = error; each != null; each = each.getCause()) {
            if (each instanceof Failed known) return known;
        }
        return null;
    }

    /** The harness no longer waits for a run. No engine takes an Error for a failure of a tool. */
    static final class Cancelled extends Error {
        Cancelled() {
            super("cancelled", null, false, false);
        }
    }
}
