//! What the harness is told of a run, as its hooks are: rig itself gives all messages at the end.

use crate::messages::{call_id, tell_all, tell_answer, tell_result};
use crate::tools::Calls;
use peer::Harness;
use rig_agent::agent::{
    AgentHook, CompletionCallAction, CompletionCallEvent, DispatchAction, DispatchEvent, HookContext,
    ModelTurnAction, ModelTurnFinished, OutcomeAction, OutcomeEvent,
};
use rig_core::message::{CallId, Message, ToolName, ToolResult};
use serde_json::{Value, json};
use std::sync::{Mutex, PoisonError};

/// The last hook of an agent.
pub struct Events {
    pub harness: Harness,
    pub calls: Calls,
    /// What of the last answer and its results was told.
    pub told: Mutex<Vec<Value>>,
}

impl Events {
    fn tell(&self, message: Value) {
        self.harness.tell(json!({ "role": message["role"], "message": message }));
        self.told.lock().unwrap_or_else(PoisonError::into_inner).push(message);
    }
}

impl AgentHook for Events {
    /// Tells of what no other hook was called for: an answer that calls a tool that is not there,
    /// and what answers such calls.
    async fn on_completion_call(&self, _ctx: &HookContext, event: CompletionCallEvent<'_>) -> CompletionCallAction {
        if event.turn > 1 {
            let messages: Vec<&Message> = event.history.iter().chain([event.prompt]).collect();
            let last = messages.iter().rposition(|each| matches!(each, Message::Assistant(_)));
            let known = std::mem::take(&mut *self.told.lock().unwrap_or_else(PoisonError::into_inner));
            for message in tell_all(messages.into_iter().skip(last.unwrap_or_default())) {
                if !known.contains(&message) { self.tell(message) }
            }
        }
        self.told.lock().unwrap_or_else(PoisonError::into_inner).clear();
        CompletionCallAction::continue_run()
    }

    async fn on_model_turn_finished(&self, _ctx: &HookContext, event: ModelTurnFinished<'_>) -> ModelTurnAction {
        self.tell(tell_answer(event.content));
        ModelTurnAction::continue_run()
    }

    async fn on_dispatch(&self, _ctx: &HookContext, event: DispatchEvent<'_>) -> DispatchAction {
        if let Some(call) = event.call_id {
            self.calls.note(event.id, call_id(call));
        }
        DispatchAction::proceed()
    }

    async fn on_outcome(&self, _ctx: &HookContext, event: OutcomeEvent<'_>) -> OutcomeAction {
        if let (Some(result), Some(name), Some(call)) = (event.tool_result(), event.tool_name(), event.call_id) {
            let content = result.output().clone().into_content();
            let name = ToolName::new(name);
            if let Ok(name) = name {
                let call: CallId = call.clone();
                self.tell(tell_result(&ToolResult { call, name, content, is_error: false }));
            }
        }
        OutcomeAction::proceed()
    }
}
