//! The handlers of the harness, as hooks of rig.

use crate::agent::{Run, has};
use crate::messages::{asking, text};
use crate::model::report;
use crate::tools::Kit;
use peer::{Failed, Harness};
use rig_agent::agent::{
    AgentHook, CompletionCallAction, CompletionCallEvent, DispatchAction, DispatchEvent, HookContext,
    InvalidToolCallAction, InvalidToolCallContext, RequestPatch, RunSettled, RunStart, RunStartAction,
    SettledOutcome,
};
use rig_core::effect::EffectKind;
use rig_core::message::Message;
use serde_json::{Value, json};

/// A handler, with the hooks that it has.
pub struct Handler {
    pub run: Run,
    pub kit: Kit,
    pub at: usize,
    pub hooks: Value,
}

/// What handlers made of the agent's instruction and tools: run-scoped, for those that come later.
#[derive(Clone)]
struct Edited(Value);

/// What came before a run: its own messages are told without it.
#[derive(Clone)]
struct Before(Vec<Message>);

impl Handler {
    async fn hook(&self, hook: &str, given: Value) -> Result<Value, Failed> {
        self.run.harness.hook(self.at, hook, given).await
    }

    async fn begin(&self, ctx: &HookContext) -> Result<(), Failed> {
        let Edited(given) = ctx.scratchpad().get().unwrap_or_else(|| Edited(self.kit.configured()));
        let mut left = self.hook("before_agent", given).await?;
        left["tools"] = self.kit.put(&left["tools"])?;
        ctx.scratchpad().insert(Edited(left));
        Ok(())
    }
}

impl AgentHook for Handler {
    async fn on_run_start(&self, ctx: &HookContext, event: RunStart<'_>) -> RunStartAction {
        ctx.scratchpad().insert(Before(event.history.to_vec()));
        if !has(&self.hooks, "before_agent") {
            return RunStartAction::continue_run();
        }
        match self.begin(ctx).await {
            Ok(()) => RunStartAction::continue_run(),
            Err(failed) => RunStartAction::stop(failed.packed()),
        }
    }

    async fn on_completion_call(
        &self,
        ctx: &HookContext,
        _event: CompletionCallEvent<'_>,
    ) -> CompletionCallAction {
        let Some(Edited(left)) = ctx.scratchpad().get() else { return CompletionCallAction::continue_run() };
        if left["instruction"] == self.run.config["instruction"] {
            return CompletionCallAction::continue_run();
        }
        CompletionCallAction::patch(RequestPatch::new().preamble(text(&left, "instruction")))
    }

    async fn on_dispatch(&self, _ctx: &HookContext, event: DispatchEvent<'_>) -> DispatchAction {
        const HISTORY: &str = "before_model_rewrite_history";
        let EffectKind::Completion { request, stream } = event.kind else { return DispatchAction::proceed() };
        if !has(&self.hooks, HISTORY) {
            return DispatchAction::proceed();
        }
        let given = json!({ "messages": self.run.messages.tell_all(&request.chat_history) });
        let left = self.hook(HISTORY, given).await;
        match left.and_then(|left| self.run.messages.read_all(&left["messages"])) {
            Ok(left) => {
                let mut request = request.clone();
                request.chat_history = asking(left, &request.chat_history);
                DispatchAction::patch(EffectKind::Completion { request, stream: *stream })
            }
            Err(failed) => DispatchAction::deny(report(failed)),
        }
    }

    async fn on_run_settled(&self, ctx: &HookContext, event: RunSettled<'_>) {
        let SettledOutcome::Response(_) = event.outcome else { return };
        if has(&self.hooks, "after_agent") {
            let Before(history) = ctx.scratchpad().get().unwrap_or(Before(Vec::new()));
            let all = history.iter().chain(event.messages.unwrap_or_default());
            let given = json!({ "messages": self.run.messages.tell_all(all) });
            // Nothing hears of an error any more: the run is settled.
            let _ = self.hook("after_agent", given).await;
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
