package driver;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.service.AiServices;
import java.util.List;

/** A driver of LangChain4j: an AI Service with tools. */
public final class Main implements Driver.Engine {
    /** Wrappers within wrappers, and the frames of each, have to fit into it: bytes. */
    private static final long STACK = 1L << 30;

    public static void main(String[] arguments) throws InterruptedException {
        Thread driving = new Thread(null, Main::drive, "driver", STACK);
        driving.start();
        driving.join();
    }

    private static void drive() {
        try {
            Driver.drive(new Main());
        } catch (java.io.IOException error) {
            throw new java.io.UncheckedIOException(error);
        }
    }

    @Override
    public String name() {
        return "langchain4j";
    }

    @Override
    public String version() {
        return System.getProperty("engine.version");
    }

    @Override
    public String profile() {
        return "langchain4j-1";
    }

    @Override
    public List<String> capabilities() {
        return List.of(
                "before_agent", "edited_config", "before_model", "wrap_model", "unknown_tools_handler",
                "parallel_calls", "sequential", "return_directly", "several_handlers",
                "arguments_text", "lone_surrogates", "many_extensions");
    }

    @Override
    public Driver.Agent build(Harness harness, ObjectNode config) {
        return new ServiceAgent(harness, config);
    }
}
