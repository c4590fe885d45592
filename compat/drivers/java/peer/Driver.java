package driver;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/** What drivers of engines with handlers have in common: agents and their runs. */
public final class Driver {
    private static final int PROTOCOL = 2;

    /** An agent that an engine built. */
    public interface Agent {
        /** Plays a run, and tells each event of the engine as it comes. */
        void run(ObjectNode asked, Consumer<ObjectNode> events);
    }

    /** An engine behind a driver: what it says of itself, and its agents. */
    public interface Engine {
        String name();

        String version();

        String profile();

        List<String> capabilities();

        Agent build(Harness harness, ObjectNode config);
    }

    private record Built(Harness harness, Agent agent, String name) {}

    private final Engine engine;
    private final Peer peer;
    private final Map<Integer, Built> built = new HashMap<>();

    private Driver(Engine engine) {
        this.engine = engine;
        Map<String, UnaryOperator<ObjectNode>> functions = new HashMap<>();
        functions.put("initialize", params -> about());
        functions.put("build", this::build);
        functions.put("run", this::run);
        functions.put("next", params -> of(params).harness.next(params));
        functions.put("cancel", this::cancel);
        functions.put("settle", params -> null); // it does nothing by itself
        functions.put("shutdown", params -> null);
        functions.put("reset", this::reset);
        peer = new Peer(functions);
    }

    /** Drives an engine until the harness asks for the end. */
    public static void drive(Engine engine) throws IOException {
        new Driver(engine).peer.serve();
    }

    private ObjectNode about() {
        ObjectNode said = Peer.object().put("protocol", PROTOCOL).put("language", "java");
        said.put("dialect", "react").put("engine", engine.name()).put("version", engine.version());
        ArrayNode capabilities = said.put("profile", engine.profile()).putArray("capabilities");
        engine.capabilities().forEach(capabilities::add);
        return said;
    }

    private Built of(ObjectNode params) {
        Built found = built.get(params.get("agent").asInt());
        if (found == null) throw new IllegalArgumentException("there is no agent " + params.get("agent"));
        return found;
    }

    private ObjectNode build(ObjectNode params) {
        ObjectNode config = (ObjectNode) params.get("config");
        Harness harness = new Harness(peer, params.get("agent").asInt());
        Agent agent = engine.build(harness, config);
        built.put(harness.agent, new Built(harness, agent, config.get("name").asText()));
        return null;
    }

    private ObjectNode run(ObjectNode asked) {
        Built of = of(asked);
        int run = asked.get("run").asInt();
        Consumer<ObjectNode> tell = event -> of.harness.tell(run, of.name, event);
        try {
            of.harness.within(asked.get("ctx").asInt(), () -> {
                of.agent.run(asked, tell);
                return null;
            });
        } catch (RuntimeException | Failed.Cancelled error) {
            tell.accept(Peer.object().set("error", Failed.told(error)));
        }
        return null;
    }

    private ObjectNode cancel(ObjectNode params) {
        of(params).harness.abandon();
        return null;
    }

    private ObjectNode reset(ObjectNode params) {
        built.remove(params.get("agent").asInt());
        return null;
    }
}
