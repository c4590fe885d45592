#!/usr/bin/env bash
# rig-agent 0.44.0 (Rust): a hook's on_outcome is called when "an effect resolved on the
# agent's bus", and its event holds a Result: an answer or an error. A tool that fails is told
# so. A model that fails is not: on_dispatch is called for the call, and nothing follows it but
# on_run_settled. What a hook opens where a call begins (a timer, a span, a seat of a limit)
# stays open for the very calls that failed, and no hook can answer in place of the model.
#
# The same holds for an answer with a call of a tool that is not there: where another hook
# skips that call, neither on_outcome nor on_model_turn_finished is called for the answer.
#
# Seen: which hooks are called, and for what, by what the model does. It takes Cargo minutes to build.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
cd "$WORK"
mkdir src
cat >Cargo.toml <<'TOML'
[package]
name = "shown"
version = "0.0.0"
edition = "2024"

[dependencies]
futures = "0.3"
rig-agent = { version = "=0.44.0", default-features = false }
rig-core = { version = "=0.44.0", default-features = false, features = ["test-utils"] }
serde_json = "1"

[profile.dev]
debug = false
TOML
cat >src/main.rs <<'RUST'
use rig_agent::agent::{
    AgentBuilder, AgentHook, DispatchAction, DispatchEvent, HookContext, InvalidToolCallAction,
    InvalidToolCallContext, ModelTurnAction, ModelTurnFinished, OutcomeAction, OutcomeEvent, RunSettled,
};
use rig_core::message::ToolName;
use rig_core::test_utils::{MockCompletionModel, MockTurn};
use rig_core::tool::{DynamicTool, ToolExecutionError};
use serde_json::json;
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    fn note(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }
}

impl AgentHook for Seen {
    async fn on_dispatch(&self, _: &HookContext, event: DispatchEvent<'_>) -> DispatchAction {
        self.note(format!("> {}", event.kind.name()));
        DispatchAction::proceed()
    }
    async fn on_outcome(&self, _: &HookContext, event: OutcomeEvent<'_>) -> OutcomeAction {
        let failed = event.outcome.is_err() || event.tool_result().is_some_and(|result| result.is_error());
        self.note(format!("< {}{}", event.kind.name(), if failed { " failed" } else { "" }));
        OutcomeAction::proceed()
    }
    async fn on_model_turn_finished(&self, _: &HookContext, _: ModelTurnFinished<'_>) -> ModelTurnAction {
        self.note("turn".to_owned());
        ModelTurnAction::continue_run()
    }
    async fn on_invalid_tool_call(&self, _: &HookContext, _: &InvalidToolCallContext) -> Option<InvalidToolCallAction> {
        Some(InvalidToolCallAction::skip("there is none"))
    }
    async fn on_run_settled(&self, _: &HookContext, _: RunSettled<'_>) {
        self.note("settled".to_owned());
    }
}

fn main() {
    let call = |name: &str| MockTurn::tool_call("1", name, json!({}));
    let plays = [
        ("it answers", vec![MockTurn::text("done")]),
        ("a tool fails", vec![call("pay"), MockTurn::text("done")]),
        ("it fails", vec![MockTurn::error("no model")]),
        ("it calls a tool that is not there", vec![call("gone"), MockTurn::text("done")]),
    ];
    for (what, turns) in plays {
        let seen = Seen::default();
        let pay = DynamicTool::new(ToolName::new("pay").unwrap(), "", json!({ "type": "object" }), |_| {
            Box::pin(async { Err(ToolExecutionError::other("no money")) })
        });
        let agent = AgentBuilder::new(MockCompletionModel::from_turns(turns)).dynamic_tool(pay).build();
        let run = agent.prompt("hi").max_turns(3).add_hook(seen.clone()).run();
        let ended = if futures::executor::block_on(run).is_ok() { "ok" } else { "error" };
        println!("{what}: {}, {ended}", seen.0.lock().unwrap().join(", "));
    }
}
RUST
cargo run -q 2>/dev/null | tee shown
diff shown - <<'SEEN'
it answers: > completion, < completion, turn, settled, ok
a tool fails: > completion, < completion, turn, > tool_call, < tool_call failed, > completion, < completion, turn, settled, ok
it fails: > completion, settled, error
it calls a tool that is not there: > completion, > completion, < completion, turn, settled, ok
SEEN
