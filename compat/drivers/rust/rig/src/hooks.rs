//! The handlers of the harness, as hooks of rig.

use crate::messages::{read_all, tell_all, text};
use crate::model::report;
use crate::tools::Kit;
use peer::{Failed, Harness};
use rig_agent::agent::{
    AgentHook, CompletionCallAction, CompletionCallEvent, DispatchAction, DispatchEvent, HookContext,
    InvalidToolCallAction, InvalidToolCallContext, RequestPatch, RunSettled, RunStart, RunStartAction,
};
use rig_core::effect::EffectKind;
use serde_json::{Value, json};

/// A handler, with the hooks that it has.
pub struct Handler {
    pub harness: Harness,
    pub kit: Kit,
    pub at: usize,
    pub hooks: Value,
}

/// What handlers made of the agent's instruction and tools: run-scoped, for those that come later.
#[derive(Clone)]
struct Edited(Value);

impl Handler {
    fn has(&self, hook: &str) -> bool {
        self.hooks.as_array().is_some_and(|hooks| hooks.iter().any(|each| each == hook))
    }

    async fn begin(&self, ctx: &HookContext) -> Result<(), Failed> {
        let Edited(given) = ctx.scratchpad().get().unwrap_or_else(|| Edited(self.kit.configured()));
        let mut left = self.harness.hook(self.at, "before_agent", given).await?;
        left["tools"] = self.kit.put(&left["tools"])?;
        ctx.scratchpad().insert(Edited(left));
        Ok(())
    }
}

impl AgentHook for Handler {
    async fn on_run_start(&self, ctx: &HookContext, _event: RunStart<'_>) -> RunStartAction {
        if !self.has("before_agent") {
            return RunStartAction::continue_run();
        }
        match self.begin(ctx).await {
            Ok(()) => RunStartAction::continue_run(),
            Err(failed) => RunStartAction::stop(failed.packed()),
        }
    }

    async fn on_completion_call(&self, ctx: &HookContext, _event: CompletionCallEvent<'_>) -> CompletionCallAction {
        match ctx.scratchpad().get() {
            Some(Edited(left)) => {
                CompletionCallAction::patch(RequestPatch::new().preamble(text(&left, "instruction")))
            }
            None => CompletionCallAction::continue_run(),
        }
    }

    async fn on_dispatch(&self, _ctx: &HookContext, event: DispatchEvent<'_>) -> DispatchAction {
        const HISTORY: &str = "before_model_rewrite_history";
        let EffectKind::Completion { request, stream } = event.kind else { return DispatchAction::proceed() };
        if !self.has(HISTORY) {
            return DispatchAction::proceed();
        }
        let given = json!({ "messages": tell_all(&request.chat_history) });
        let left = self.harness.hook(self.at, HISTORY, given).await;
        match left.and_then(|left| read_all(&left["messages"])) {
            Ok(chat_history) => {
                let mut request = request.clone();
                request.chat_history = chat_history;
                DispatchAction::patch(EffectKind::Completion { request, stream: *stream })
            }
            Err(failed) => DispatchAction::deny(report(failed)),
        }
    }

    async fn on_run_settled(&self, _ctx: &HookContext, event: RunSettled<'_>) {
        if self.has("after_agent") {
            let messages = tell_all(event.messages.unwrap_or_default());
            // Nothing hears of an error any more: the run is settled.
            let _ = self.harness.hook(self.at, "after_agent", json!({ "messages": messages })).await;
        }
    }
}

/// Answers calls of tools that are not there.
pub struct Unknown(pub Harness);

impl AgentHook for Unknown {
    async fn on_invalid_tool_call(
        &self,
        _ctx: &HookContext,
        event: &InvalidToolCallContext,
    ) -> Option<InvalidToolCallAction> {
        let call = event.tool_call_id.as_ref().map_or("", crate::messages::call_id);
        let arguments = event.args.as_deref().unwrap_or("{}");
        Some(match self.0.unknown_tool(&event.tool_name, call, arguments).await {
            Ok(result) => InvalidToolCallAction::skip(result),
            Err(failed) => InvalidToolCallAction::stop(failed.packed()),
        })
    }
}
