//! Messages as rig has them, and back.

use peer::Failed;
use rig_core::completion::ToolDefinition;
use rig_core::message::{
    AssistantContent, AssistantMessage, CallId, Message, ToolCall, ToolFunction, ToolName, ToolResult,
    ToolResultContent, UserContent,
};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What stands where rig has to have a text and there is none: no text of the harness begins so.
const NOTHING: &str = "\u{10FFFF}";

/// The messages of a run.
#[derive(Clone, Default)]
pub struct Messages {
    /// How arguments were written, by the id of their call, the tool and what they mean: rig keeps that alone.
    written: Arc<Mutex<HashMap<[String; 3], String>>>,
}

impl Messages {
    /// Reads messages of the harness.
    pub fn read_all(&self, told: &Value) -> Result<Vec<Message>, Failed> {
        told.as_array().into_iter().flatten().map(|each| self.read(each)).collect()
    }

    fn read(&self, told: &Value) -> Result<Message, Failed> {
        Ok(match text(told, "role") {
            "system" => Message::system(text(told, "content")),
            "user" => Message::user(text(told, "content")),
            "tool" => Message::tool_results(vec![result(told)?]),
            _ => Message::Assistant(AssistantMessage::new(self.content(told)?)),
        })
    }

    /// Reads what an assistant says, and the calls that it makes.
    pub fn content(&self, told: &Value) -> Result<Vec<AssistantContent>, Failed> {
        let said = text(told, "content");
        let mut content = Vec::new();
        if !said.is_empty() || calls(told).is_empty() {
            content.push(AssistantContent::text(said));
        }
        for each in calls(told) {
            content.push(AssistantContent::ToolCall(self.call(each)?));
        }
        Ok(content)
    }

    fn call(&self, told: &Value) -> Result<ToolCall, Failed> {
        let function = ToolFunction::parse(named(text(told, "name"))?, text(told, "arguments"));
        let call = ToolCall::from_wire(text(told, "id"), function);
        self.written().insert(key(&call), text(told, "arguments").to_owned());
        Ok(call)
    }

    /// Notes how the arguments of an answer are written, which rig reads by itself.
    pub fn note(&self, told: &Value) {
        for each in calls(told) {
            let _ = self.call(each); // one that is none is refused by rig
        }
    }

    fn written(&self) -> MutexGuard<'_, HashMap<[String; 3], String>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells messages: one of a user's may hold several of the harness's.
    pub fn tell_all<'a>(&self, messages: impl IntoIterator<Item = &'a Message>) -> Vec<Value> {
        messages.into_iter().flat_map(|each| self.tell(each)).collect()
    }

    fn tell(&self, message: &Message) -> Vec<Value> {
        match message {
            Message::System { content } => vec![json!({ "role": "system", "content": content })],
            Message::User { content } => content.iter().filter_map(tell_part).collect(),
            Message::Assistant(said) => vec![self.tell_answer(&said.content)],
        }
    }

    pub fn tell_answer(&self, content: &[AssistantContent]) -> Value {
        let (mut said, mut calls) = (String::new(), Vec::new());
        let mut more = Map::new();
        for part in content {
            more.extend(part.native_item().and_then(Value::as_object).cloned().unwrap_or_default());
            match part {
                AssistantContent::Text(each) => said += &each.text,
                AssistantContent::ToolCall(call) => calls.push(self.tell_call(call)),
                _ => {}
            }
        }
        let mut told = json!({ "role": "assistant", "content": said });
        if !calls.is_empty() {
            more.insert("tool_calls".to_owned(), calls.into());
        }
        told.as_object_mut().into_iter().for_each(|told| told.extend(std::mem::take(&mut more)));
        told
    }

    fn tell_call(&self, call: &ToolCall) -> Value {
        let [id, name, meaning] = key(call);
        let arguments = self.as_written(&id, &name, &meaning);
        json!({ "id": id, "name": name, "arguments": arguments })
    }

    /// Returns the arguments of a call as they were written, if that is known.
    pub fn as_written(&self, id: &str, name: &str, meaning: &str) -> String {
        let known = self.written().get(&[id, name, meaning].map(str::to_owned)).cloned();
        known.unwrap_or_else(|| meaning.to_owned())
    }
}

fn key(call: &ToolCall) -> [String; 3] {
    let other = call.function.invalid_arguments.clone();
    let meaning = other.unwrap_or_else(|| call.function.arguments_value().to_string());
    [call_id(&call.id).to_owned(), call.function.name.to_string(), meaning]
}

fn calls(told: &Value) -> &[Value] {
    told["tool_calls"].as_array().map_or(&[], Vec::as_slice)
}

/// Returns what rig has no place for in an answer, but as a vendor's own item of one.
pub fn native(told: &Value) -> Value {
    let more = ["id", "name", "extra"]
        .into_iter()
        .filter_map(|name| told.get(name).map(|more| (name.to_owned(), more.clone())));
    let more: Map<String, Value> = more.collect();
    if more.is_empty() { Value::Null } else { more.into() }
}

/// Puts what stands for no message in the place of none, where it stood before.
pub fn asking(left: Vec<Message>, before: &[Message]) -> Vec<Message> {
    let is_kept = left.is_empty() && before.contains(&nothing());
    if is_kept { vec![nothing()] } else { left }
}

/// What a run is asked with where it is given no message: the harness is not told of it.
pub fn nothing() -> Message {
    Message::user(NOTHING)
}

fn result(told: &Value) -> Result<ToolResult, Failed> {
    let name = Some(text(told, "name")).filter(|name| !name.is_empty());
    Ok(ToolResult {
        call: CallId::from_wire(text(told, "tool_call_id")),
        name: named(name.unwrap_or(NOTHING))?,
        content: vec![ToolResultContent::text(text(told, "content"))],
        is_error: false,
    })
}

fn named(name: &str) -> Result<ToolName, Failed> {
    ToolName::new(name).map_err(|error| Failed::new(error.to_string()))
}

pub fn text<'a>(told: &'a Value, name: &str) -> &'a str {
    told[name].as_str().unwrap_or_default()
}

fn tell_part(part: &UserContent) -> Option<Value> {
    match part {
        UserContent::Text(said) if said.text == NOTHING => None,
        UserContent::Text(said) => Some(json!({ "role": "user", "content": said.text })),
        UserContent::ToolResult(result) => Some(tell_result(result)),
        _ => None,
    }
}

pub fn tell_result(result: &ToolResult) -> Value {
    let parts = result.content.iter().filter_map(ToolResultContent::as_text);
    let mut told = json!({ "role": "tool", "content": parts.collect::<String>() });
    told["tool_call_id"] = call_id(&result.call).into();
    if result.name != NOTHING {
        told["name"] = result.name.as_str().into();
    }
    told
}

/// Returns the id that the model gave a call: one that rig made up is none.
pub fn call_id(id: &CallId) -> &str {
    id.provider().map_or("", |given| given.as_str())
}

/// Tells which tools a model is shown.
pub fn infos(tools: &[ToolDefinition]) -> Vec<Value> {
    let info = |each: &ToolDefinition| json!({ "name": each.name.as_str(), "description": each.description });
    tools.iter().map(info).collect()
}
