//! An agent of rig, built for each run.

use crate::events::Events;
use crate::hooks::{Handler, Unknown};
use crate::messages::{Messages, nothing, text};
use crate::model::{failed, model};
use crate::tools::{Calls, Kit};
use crate::wrapped::Wrapped;
use futures::{FutureExt, future::LocalBoxFuture};
use peer::{Agent, Failed, Harness, Reply};
use rig_agent::agent::AgentBuilder;
use rig_agent::completion::PromptError;
use rig_core::completion::ModelRef;
use rig_core::message::Message;
use rig_core::serve::{ErasedHandler, adapters::ModelAdapter};
use serde_json::{Value, json};
use std::sync::Arc;

/// What a model is called that has wrappers around it.
const WRAPPED: &str = "wrapped";
/// As many calls of a message run at one time as there are.
const ALL: usize = 1 << 20;

pub struct RigAgent(Arc<Value>);

impl RigAgent {
    pub fn new(config: Value) -> Self {
        Self(Arc::new(config))
    }
}

impl Agent for RigAgent {
    fn run(&self, harness: Harness, asked: Value) -> LocalBoxFuture<'static, Reply> {
        let (config, messages, calls) = (self.0.clone(), Messages::default(), Calls::default());
        Run { config, harness, messages, calls }.play(asked).boxed_local()
    }
}

/// What all that plays a part in a run has in common.
#[derive(Clone)]
pub struct Run {
    pub config: Arc<Value>,
    pub harness: Harness,
    pub messages: Messages,
    pub calls: Calls,
}

impl Run {
    /// Returns a handler with the user's around it that have a hook, the first of them outermost.
    pub fn wrapped(&self, hook: &str, inner: ErasedHandler) -> ErasedHandler {
        let having = self.handlers().iter().enumerate().filter(|(_, hooks)| has(hooks, hook));
        let around = |inner, at| ErasedHandler::new(Wrapped { run: self.clone(), at, inner });
        having.rev().map(|(at, _)| at).fold(inner, around)
    }

    fn handlers(&self) -> &[Value] {
        self.config["handlers"].as_array().map_or(&[], Vec::as_slice)
    }

    async fn play(self, asked: Value) -> Reply {
        let mut history = self.messages.read_all(&asked["messages"])?;
        let prompt = history.pop().unwrap_or_else(nothing);
        let kit = Kit::new(self.clone())?;
        let inner = ErasedHandler::new(ModelAdapter::new(WRAPPED, model(self.clone())));
        let mut builder = AgentBuilder::new(model(self.clone()))
            .model_route_handler(WRAPPED, self.wrapped("wrap_model_call", inner))
            .tool_server_handle(kit.server.clone());
        if !text(&self.config, "instruction").is_empty() {
            builder = builder.preamble(text(&self.config, "instruction"));
        }
        for (at, hooks) in self.handlers().iter().enumerate() {
            let (run, kit, hooks) = (self.clone(), kit.clone(), hooks.clone());
            builder = builder.add_hook(Handler { run, kit, at, hooks });
        }
        if self.config["unknown_tools_handler"] == true {
            builder = builder.add_hook(Unknown(self.harness.clone()));
        }
        let events = Events::new(self.clone());
        let agent = builder.add_hook(events.clone()).build();
        let runner = agent.prompt(prompt).history(history).using_model(ModelRef::from(WRAPPED));
        let runner = runner
            .max_turns(self.config["max_iterations"].as_u64().unwrap_or_default() as usize)
            .tool_concurrency(if self.config["sequential"] == true { 1 } else { ALL });
        let ended = runner.run().await.map(|_| json!({}));
        ended.map_err(|error| {
            events.catch_up(history_in(&error));
            told(error)
        })
    }
}

/// Tells whether a handler has a hook.
pub fn has(hooks: &Value, hook: &str) -> bool {
    hooks.as_array().is_some_and(|hooks| hooks.iter().any(|each| each == hook))
}

/// Returns the messages that an error hands back.
fn history_in(error: &PromptError) -> &[Message] {
    match error {
        PromptError::UnknownToolCall { chat_history, .. } => chat_history,
        _ => &[],
    }
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
