//! An agent of rig, built for each run.

use crate::events::Events;
use crate::hooks::{Handler, Unknown};
use crate::messages::{nothing, read_all, text};
use crate::model::{failed, model};
use crate::tools::{Calls, Kit};
use crate::wrapped::Wrapped;
use futures::{FutureExt, future::LocalBoxFuture};
use peer::{Agent, Failed, Harness, Reply};
use rig_agent::agent::AgentBuilder;
use rig_agent::completion::PromptError;
use rig_core::completion::ModelRef;
use rig_core::serve::{ErasedHandler, adapters::ModelAdapter};
use serde_json::{Value, json};
use std::sync::Mutex;

/// What a model is called that has wrappers around it.
const WRAPPED: &str = "wrapped";
/// As many calls of a message run at one time as there are.
const ALL: usize = 1 << 20;

pub struct RigAgent(Value);

impl RigAgent {
    pub fn new(config: Value) -> Self {
        Self(config)
    }
}

impl Agent for RigAgent {
    fn run(&self, harness: Harness, asked: Value) -> LocalBoxFuture<'static, Reply> {
        run(self.0.clone(), harness, asked).boxed_local()
    }
}

/// Returns the places of the handlers that have a hook, the first of them first.
pub fn with(config: &Value, hook: &str) -> Vec<usize> {
    let handlers = config["handlers"].as_array().into_iter().flatten().enumerate();
    let having = handlers.filter(|(_, hooks)| hooks.as_array().is_some_and(|hooks| hooks.iter().any(|each| each == hook)));
    having.map(|(at, _)| at).collect()
}

async fn run(config: Value, harness: Harness, asked: Value) -> Reply {
    let calls = Calls::default();
    let kit = Kit::new(config.clone(), harness.clone(), calls.clone())?;
    let mut history = read_all(&asked["messages"])?;
    let prompt = history.pop().unwrap_or_else(nothing);
    let mut inner = ErasedHandler::new(ModelAdapter::new(WRAPPED, model(harness.clone())));
    for at in with(&config, "wrap_model_call").into_iter().rev() {
        let (harness, calls) = (harness.clone(), calls.clone());
        inner = ErasedHandler::new(Wrapped { harness, calls, at, inner });
    }
    let mut builder = AgentBuilder::new(model(harness.clone()))
        .model_route_handler(WRAPPED, inner)
        .tool_server_handle(kit.server.clone());
    if !text(&config, "instruction").is_empty() {
        builder = builder.preamble(text(&config, "instruction"));
    }
    for (at, hooks) in config["handlers"].as_array().into_iter().flatten().enumerate() {
        let (harness, kit, hooks) = (harness.clone(), kit.clone(), hooks.clone());
        builder = builder.add_hook(Handler { harness, kit, at, hooks });
    }
    if config["unknown_tools_handler"] == true {
        builder = builder.add_hook(Unknown(harness.clone()));
    }
    builder = builder.add_hook(Events { harness, calls, told: Mutex::default() });
    let runner = builder.build().prompt(prompt).history(history).using_model(ModelRef::from(WRAPPED));
    let runner = runner
        .max_turns(config["max_iterations"].as_u64().unwrap_or_default() as usize)
        .tool_concurrency(if config["sequential"] == true { 1 } else { ALL });
    runner.run().await.map(|_| json!({})).map_err(told)
}

fn told(error: PromptError) -> Failed {
    match &error {
        PromptError::MaxTurns { .. } => Failed::of("max_iterations", error.to_string()),
        PromptError::UnknownToolCall { tool_name, .. } => {
            Failed::of("unknown_tool", format!("tool {tool_name} not found"))
        }
        PromptError::Cancelled { reason, .. } => Failed::unpacked(reason),
        PromptError::Report(report) => failed(report),
        _ => Failed::new(error.to_string()),
    }
}
