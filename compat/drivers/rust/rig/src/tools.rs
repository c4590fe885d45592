//! The tools of the harness, as handlers of a run.

use crate::agent::with;
use crate::messages::text;
use crate::wrapped::Wrapped;
use peer::{Failed, Harness};
use rig_agent::tool::{RegisteredTool, server::{ToolServer, ToolServerHandle}};
use rig_core::effect::{
    EffectId, EffectKind, FamilyDescriptor, HandlerDescriptor, Outcome, family, tool_key,
};
use rig_core::error::{ErrorKind, ErrorReport};
use rig_core::serve::{Dispatch, ErasedHandler, Reply, Serve};
use rig_core::tool::{ToolExecutionError, ToolOutput, ToolResult};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The ids of a run's calls, by their effects: a tool is not told which call it answers.
#[derive(Clone, Default)]
pub struct Calls(Arc<Mutex<HashMap<EffectId, String>>>);

impl Calls {
    pub fn note(&self, effect: EffectId, call: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(effect, call.to_owned());
    }

    pub fn of(&self, effect: EffectId) -> String {
        let calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.get(&effect).cloned().unwrap_or_default()
    }
}

/// A tool of the harness.
pub struct Tool {
    pub harness: Harness,
    pub calls: Calls,
    pub told: Value,
}

impl Serve for Tool {
    type Family = family::Tool;

    fn descriptor(&self) -> HandlerDescriptor {
        let name = text(&self.told, "name");
        HandlerDescriptor {
            key: tool_key(name),
            family: FamilyDescriptor::Tool {
                name: name.to_owned(),
                description: text(&self.told, "description").to_owned(),
                parameters: json!({ "type": "object" }),
                embedding: None,
            },
            layers: Vec::new(),
        }
    }

    async fn serve(&self, kind: EffectKind, dispatch: Dispatch) -> Reply {
        let EffectKind::ToolCall { args, .. } = kind else {
            return Reply::Outcome(Err(ErrorReport::new(ErrorKind::HandlerUnavailable, "it is a tool")));
        };
        let number = self.told["tool"].as_u64().unwrap_or_default();
        let call = self.calls.of(dispatch.id());
        answered(self.harness.tool(number, &call, &args).await)
    }
}

/// Returns what a tool or a wrapper around it answers with: an error is a result that says so.
pub fn answered(text: Result<String, Failed>) -> Reply {
    let result = match text {
        Ok(text) => ToolResult::success(ToolOutput::text(text)),
        Err(failed) => ToolResult::failed(ToolExecutionError::other(failed.message)),
    };
    Reply::Outcome(Ok(Outcome::ToolResult { result }))
}

/// The tools of a run, which handlers may change before it begins.
#[derive(Clone)]
pub struct Kit {
    pub server: ToolServerHandle,
    config: Value,
    harness: Harness,
    calls: Calls,
}

impl Kit {
    pub fn new(config: Value, harness: Harness, calls: Calls) -> Result<Self, Failed> {
        let kit = Self { server: ToolServer::new().run(), config, harness, calls };
        kit.put(&kit.config["tools"])?;
        Ok(kit)
    }

    /// Returns what the agent was configured with.
    pub fn configured(&self) -> Value {
        json!({ "instruction": self.config["instruction"], "tools": self.config["tools"], "return_directly": {} })
    }

    /// Puts these tools in the place of those that are there; returns them, one of each name.
    pub fn put(&self, tools: &Value) -> Result<Value, Failed> {
        for each in self.server.static_tool_defs() {
            self.server.remove_tool(&each.name);
        }
        for told in tools.as_array().into_iter().flatten() {
            self.server.add_registered_tool(self.tool(told)?);
        }
        Ok(tools.clone())
    }

    fn tool(&self, told: &Value) -> Result<RegisteredTool, Failed> {
        let (harness, calls, told) = (self.harness.clone(), self.calls.clone(), told.clone());
        let mut inner = ErasedHandler::new(Tool { harness, calls, told });
        for at in with(&self.config, "wrap_invokable_tool_call").into_iter().rev() {
            let (harness, calls) = (self.harness.clone(), self.calls.clone());
            inner = ErasedHandler::new(Wrapped { harness, calls, at, inner });
        }
        RegisteredTool::from_handler(inner).map_err(|report| Failed::new(report.message))
    }
}
