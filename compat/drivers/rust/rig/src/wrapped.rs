//! Handlers around handlers: what wraps a model, or a tool.

use crate::agent::Run;
use crate::messages::{asking, infos, text};
use crate::model::{failed, origin, report};
use futures::FutureExt;
use peer::{Failed, Next};
use rig_core::completion::{CompletionRequest, CompletionResponse, Usage};
use rig_core::effect::{EffectKind, HandlerDescriptor, Outcome, family};
use rig_core::serve::{Dispatch, ErasedHandler, Reply, Serve};
use rig_core::tool::{ToolOutput, ToolResult};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};

/// The answers that came from further in, as they were told.
type Answers = Arc<Mutex<Vec<(Value, CompletionResponse)>>>;

/// A handler with a handler of the user's around it.
pub struct Wrapped {
    pub run: Run,
    pub at: usize,
    pub inner: ErasedHandler,
}

impl Serve for Wrapped {
    type Family = family::Dynamic;

    fn descriptor(&self) -> HandlerDescriptor {
        self.inner.descriptor()
    }

    async fn serve(&self, kind: EffectKind, dispatch: Dispatch) -> Reply {
        match kind {
            EffectKind::Completion { request, stream: false } => self.around_model(request, dispatch).await,
            EffectKind::ToolCall { name, args } => self.around_tool(name, args, dispatch).await,
            kind => self.inner.handle(kind, dispatch).await,
        }
    }
}

impl Wrapped {
    async fn around_model(&self, request: CompletionRequest, dispatch: Dispatch) -> Reply {
        let told = self.run.messages.tell_all(&request.chat_history);
        let given = json!({ "streaming": false, "messages": told, "tools": infos(&request.tools) });
        let (run, inner, id, answers) =
            (self.run.clone(), self.inner.clone(), dispatch.id(), Answers::default());
        let kept = answers.clone();
        let next: Next = Arc::new(move |asked| {
            let (run, inner, kept) = (run.clone(), inner.clone(), kept.clone());
            let request = passed(&run, &request, &asked);
            let next = async move {
                let kind = EffectKind::Completion { request: request?, stream: false };
                let reply = inner.handle(kind, Dispatch::new(id, false)).await;
                let Outcome::Completion(response) =
                    reply.into_outcome().await.map_err(|error| failed(&error))?
                else {
                    return Err(Failed::new("a model answered with no answer"));
                };
                let told = run.messages.tell_answer(&response.choice);
                kept.lock().unwrap_or_else(PoisonError::into_inner).push((told.clone(), response));
                Ok(told)
            };
            next.boxed()
        });
        let answer = self.run.harness.around(self.at, "wrap_model_call", given, next).await;
        let response = answer.and_then(|told| self.response(&told, &answers));
        Reply::Outcome(response.map(Outcome::Completion).map_err(report))
    }

    /// Returns the answer of a model that is told, or one that a wrapper made itself.
    fn response(&self, told: &Value, answers: &Answers) -> Result<CompletionResponse, Failed> {
        let answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, response)) = answers.iter().rev().find(|(known, _)| known == told) {
            return Ok(response.clone());
        }
        let content = self.run.messages.content(told)?;
        Ok(CompletionResponse::new(content, Usage::default(), origin(), Value::Null))
    }

    async fn around_tool(&self, name: String, args: String, dispatch: Dispatch) -> Reply {
        let call = self.run.calls.of(dispatch.id());
        let arguments = self.run.messages.as_written(&call, &name, &args);
        let given = json!({ "name": name, "arguments": arguments, "call_id": call });
        let (inner, id) = (self.inner.clone(), dispatch.id());
        let next: Next = Arc::new(move |asked| {
            let (inner, name, args) = (inner.clone(), name.clone(), text(&asked, "arguments").to_owned());
            let next = async move {
                let reply = inner.handle(EffectKind::ToolCall { name, args }, Dispatch::new(id, false)).await;
                match reply.into_outcome().await.map_err(|error| failed(&error))? {
                    Outcome::ToolResult { result } => Ok(json!({ "result": result.output().render() })),
                    _ => Err(Failed::new("a tool answered with no result")),
                }
            };
            next.boxed()
        });
        let answer = self.run.harness.around(self.at, "wrap_invokable_tool_call", given, next).await;
        let result = answer.map(|told| ToolResult::success(ToolOutput::text(text(&told, "result"))));
        Reply::Outcome(result.map(|result| Outcome::ToolResult { result }).map_err(report))
    }
}

/// Returns the request that a wrapper hands on.
fn passed(run: &Run, request: &CompletionRequest, asked: &Value) -> Result<CompletionRequest, Failed> {
    let mut passed = request.clone();
    let left = run.messages.read_all(&asked["messages"])?;
    passed.chat_history = asking(left, &request.chat_history);
    if let Some(left) = asked["tools"].as_array() {
        passed.tools.retain(|each| left.iter().any(|name| name == each.name.as_str()));
    }
    Ok(passed)
}
