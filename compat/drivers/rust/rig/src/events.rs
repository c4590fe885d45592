//! What the harness is told of a run, as its hooks are: rig itself gives all messages at the end.

use crate::agent::Run;
use crate::messages::{call_id, tell_result};
use rig_agent::agent::{
    AgentHook, CompletionCallAction, CompletionCallEvent, DispatchAction, DispatchEvent, HookContext,
    ModelTurnAction, ModelTurnFinished, OutcomeAction, OutcomeEvent,
};
use rig_core::message::{Message, ToolName, ToolResult};
use rig_core::tool::ToolExecutionError;
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// The last hook of an agent.
#[derive(Clone)]
pub struct Events {
    run: Run,
    /// Whether the last answer was told.
    told: Arc<AtomicBool>,
}

impl Events {
    pub fn new(run: Run) -> Self {
        Self { run, told: Arc::default() }
    }

    fn tell(&self, message: &Value) {
        self.run.harness.tell(json!({ "role": message["role"], "message": message }));
    }

    /// Tells of the last answer that the history has, if no hook was called for it: one that calls a tool
    /// that is not there. What answers such calls is no event of rig's.
    pub fn catch_up<'a>(&self, history: impl IntoIterator<Item = &'a Message>) {
        let answers = history.into_iter().filter(|each| matches!(each, Message::Assistant(_)));
        let last = self.run.messages.tell_all(answers.last());
        let is_known = self.told.swap(true, Ordering::Relaxed);
        last.into_iter().filter(|_| !is_known).for_each(|answer| self.tell(&answer));
    }
}

impl AgentHook for Events {
    async fn on_completion_call(
        &self,
        _ctx: &HookContext,
        event: CompletionCallEvent<'_>,
    ) -> CompletionCallAction {
        if event.turn > 1 {
            self.catch_up(event.history.iter().chain([event.prompt]));
        }
        self.told.store(false, Ordering::Relaxed);
        CompletionCallAction::continue_run()
    }

    async fn on_model_turn_finished(
        &self,
        _ctx: &HookContext,
        event: ModelTurnFinished<'_>,
    ) -> ModelTurnAction {
        self.told.store(true, Ordering::Relaxed);
        self.tell(&self.run.messages.tell_answer(event.content));
        ModelTurnAction::continue_run()
    }

    async fn on_dispatch(&self, _ctx: &HookContext, event: DispatchEvent<'_>) -> DispatchAction {
        if let Some(call) = event.call_id {
            self.run.calls.note(event.id, call_id(call));
        }
        DispatchAction::proceed()
    }

    async fn on_outcome(&self, _ctx: &HookContext, event: OutcomeEvent<'_>) -> OutcomeAction {
        let of = event.call_id.cloned().zip(event.tool_name().and_then(|name| ToolName::new(name).ok()));
        let content = match (event.outcome, event.tool_result()) {
            (_, Some(result)) => result.output().clone().into_content(),
            (Err(report), None) => {
                ToolExecutionError::from(report.clone()).model_output().clone().into_content()
            }
            _ => return OutcomeAction::proceed(),
        };
        if let Some((call, name)) = of {
            self.tell(&tell_result(&ToolResult { call, name, content, is_error: false }));
        }
        OutcomeAction::proceed()
    }
}
