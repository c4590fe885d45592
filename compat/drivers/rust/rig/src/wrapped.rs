//! Handlers around handlers: what wraps a model, or a tool.

use crate::messages::{content, infos, read_all, tell_all, tell_answer, text};
use crate::model::{failed, origin, report};
use crate::tools::{Calls, answered};
use futures::FutureExt;
use peer::{Failed, Harness, Next};
use rig_core::completion::{CompletionRequest, CompletionResponse, Usage};
use rig_core::effect::{EffectKind, HandlerDescriptor, Outcome, family};
use rig_core::serve::{Dispatch, ErasedHandler, Reply, Serve};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};

/// The answers that came from further in, as they were told.
type Answers = Arc<Mutex<Vec<(Value, CompletionResponse)>>>;

/// A handler with a handler of the user's around it.
pub struct Wrapped {
    pub harness: Harness,
    pub calls: Calls,
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
        let mut given = json!({ "streaming": false, "messages": tell_all(&request.chat_history) });
        given["tools"] = infos(&request.tools).into();
        let (inner, id, answers) = (self.inner.clone(), dispatch.id(), Answers::default());
        let kept = answers.clone();
        let next: Next = Arc::new(move |asked| {
            let (inner, request, kept) = (inner.clone(), passed(&request, &asked), kept.clone());
            let next = async move {
                let kind = EffectKind::Completion { request: request?, stream: false };
                let reply = inner.handle(kind, Dispatch::new(id, false)).await;
                match reply.into_outcome().await.map_err(|error| failed(&error))? {
                    Outcome::Completion(response) => {
                        let told = tell_answer(&response.choice);
                        kept.lock().unwrap_or_else(PoisonError::into_inner).push((told.clone(), response));
                        Ok(told)
                    }
                    other => Err(Failed::new(format!("a model answered with a {}", other.family()))),
                }
            };
            next.boxed()
        });
        let answer = self.harness.around(self.at, "wrap_model_call", given, next).await;
        let response = answer.and_then(|told| response(&told, &answers));
        Reply::Outcome(response.map(Outcome::Completion).map_err(report))
    }

    async fn around_tool(&self, name: String, args: String, dispatch: Dispatch) -> Reply {
        let call = self.calls.of(dispatch.id());
        let given = json!({ "name": name, "arguments": args, "call_id": call });
        let (inner, id) = (self.inner.clone(), dispatch.id());
        let next: Next = Arc::new(move |asked| {
            let (inner, name, args) = (inner.clone(), name.clone(), text(&asked, "arguments").to_owned());
            let next = async move {
                let reply = inner.handle(EffectKind::ToolCall { name, args }, Dispatch::new(id, false)).await;
                match reply.into_outcome().await.map_err(|error| failed(&error))? {
                    Outcome::ToolResult { result } => Ok(json!({ "result": result.output().render() })),
                    other => Err(Failed::new(format!("a tool answered with a {}", other.family()))),
                }
            };
            next.boxed()
        });
        let answer = self.harness.around(self.at, "wrap_invokable_tool_call", given, next).await;
        answered(answer.map(|told| text(&told, "result").to_owned()))
    }
}

/// Returns the request that a wrapper hands on.
fn passed(request: &CompletionRequest, asked: &Value) -> Result<CompletionRequest, Failed> {
    let mut passed = request.clone();
    passed.chat_history = read_all(&asked["messages"])?;
    if let Some(left) = asked["tools"].as_array() {
        passed.tools.retain(|each| left.iter().any(|name| name == each.name.as_str()));
    }
    Ok(passed)
}

/// Returns the answer of a model that is told, or one that a wrapper made itself.
fn response(told: &Value, answers: &Answers) -> Result<CompletionResponse, Failed> {
    let answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, response)) = answers.iter().rev().find(|(known, _)| known == told) {
        return Ok(response.clone());
    }
    Ok(CompletionResponse::new(content(told)?, Usage::default(), origin(), Value::Null))
}
