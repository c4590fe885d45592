//! The tools of the harness, as handlers of a run.

use crate::agent::Run;
use crate::messages::text;
use crate::model::failed;
use peer::Failed;
use rig_agent::tool::{
    RegisteredTool,
    server::{ToolServer, ToolServerHandle},
};
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
struct Tool {
    run: Run,
    told: Value,
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
        let EffectKind::ToolCall { name, args } = kind else {
            return Reply::Outcome(Err(ErrorReport::new(ErrorKind::HandlerUnavailable, "it is a tool")));
        };
        let number = self.told["tool"].as_u64().unwrap_or_default();
        let call = self.run.calls.of(dispatch.id());
        let arguments = self.run.messages.as_written(&call, &name, &args);
        let result = match self.run.harness.tool(number, &call, &arguments).await {
            Ok(text) => ToolResult::success(ToolOutput::text(text)),
            Err(failed) => ToolResult::failed(ToolExecutionError::other(failed.message)),
        };
        Reply::Outcome(Ok(Outcome::ToolResult { result }))
    }
}

/// The tools of a run, which handlers may change before it begins.
#[derive(Clone)]
pub struct Kit {
    pub server: ToolServerHandle,
    run: Run,
}

impl Kit {
    pub fn new(run: Run) -> Result<Self, Failed> {
        let kit = Self { server: ToolServer::new().run(), run };
        kit.put(&kit.run.config["tools"])?;
        Ok(kit)
    }

    /// Returns what the agent was configured with.
    pub fn configured(&self) -> Value {
        let Run { config, .. } = &self.run;
        json!({ "instruction": config["instruction"], "tools": config["tools"], "return_directly": {} })
    }

    /// Puts these tools in the place of those that are there; returns them, the last one of each name.
    pub fn put(&self, tools: &Value) -> Result<Value, Failed> {
        for each in self.server.static_tool_defs() {
            self.server.remove_tool(&each.name);
        }
        let mut left: Vec<Value> = Vec::new();
        for told in tools.as_array().into_iter().flatten() {
            self.server.add_registered_tool(self.tool(told)?);
            match left.iter_mut().find(|each| each["name"] == told["name"]) {
                Some(same) => *same = told.clone(),
                None => left.push(told.clone()),
            }
        }
        Ok(left.into())
    }

    fn tool(&self, told: &Value) -> Result<RegisteredTool, Failed> {
        let inner = ErasedHandler::new(Tool { run: self.run.clone(), told: told.clone() });
        let wrapped = self.run.wrapped("wrap_invokable_tool_call", inner);
        RegisteredTool::from_handler(wrapped).map_err(|report| failed(&report))
    }
}
