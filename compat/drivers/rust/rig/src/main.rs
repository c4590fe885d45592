//! A driver of rig: an agent with hooks and tools that are added at run time.

mod agent;
mod events;
mod hooks;
mod messages;
mod model;
mod tools;
mod wrapped;

use agent::RigAgent;
use peer::{About, Agent, Engine, Failed, drive};
use serde_json::Value;

struct Rig;

impl Engine for Rig {
    fn about(&self) -> About {
        About {
            engine: "rig",
            version: env!("ENGINE_VERSION"),
            profile: "rig-0.44",
            capabilities: &[
                "before_agent",
                "edited_config",
                "before_model",
                "after_agent",
                "wrap_model",
                "wrap_tool",
                "unknown_tools_handler",
                "parallel_calls",
                "concurrent_calls",
                "sequential",
                "several_handlers",
                "failed_history",
                "next_twice",
                "run_locals",
                "lone_surrogates",
                "many_extensions",
            ],
        }
    }

    fn build(&self, config: Value) -> Result<Box<dyn Agent>, Failed> {
        Ok(Box::new(RigAgent::new(config)))
    }
}

fn main() -> std::io::Result<()> {
    drive(Rig)
}
