//! Messages as rig has them, and back.

use peer::Failed;
use rig_core::completion::ToolDefinition;
use rig_core::message::{
    AssistantContent, AssistantMessage, CallId, Message, ToolCall, ToolFunction, ToolName, ToolResult,
    ToolResultContent, UserContent,
};
use serde_json::{Value, json};

/// What stands where rig has to have a text and there is none: no text of the harness begins so.
const NOTHING: &str = "\u{10FFFF}";

/// What a run is asked with where it is given no message: the harness is not told of it.
pub fn nothing() -> Message {
    Message::user(NOTHING)
}

/// Reads messages of the harness.
pub fn read_all(told: &Value) -> Result<Vec<Message>, Failed> {
    told.as_array().into_iter().flatten().map(read).collect()
}

fn read(told: &Value) -> Result<Message, Failed> {
    Ok(match text(told, "role") {
        "system" => Message::system(text(told, "content")),
        "user" => Message::user(text(told, "content")),
        "tool" => Message::tool_results(vec![result(told)?]),
        _ => Message::Assistant(AssistantMessage::new(content(told)?)),
    })
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

/// Reads what an assistant says, and the calls that it makes.
pub fn content(told: &Value) -> Result<Vec<AssistantContent>, Failed> {
    let calls = told["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
    let said = text(told, "content");
    let mut content = Vec::new();
    if !said.is_empty() || calls.is_empty() {
        content.push(AssistantContent::text(said));
    }
    for each in calls {
        let function = ToolFunction::parse(named(text(each, "name"))?, text(each, "arguments"));
        content.push(AssistantContent::ToolCall(ToolCall::from_wire(text(each, "id"), function)));
    }
    Ok(content)
}

pub fn named(name: &str) -> Result<ToolName, Failed> {
    ToolName::new(name).map_err(|error| Failed::new(error.to_string()))
}

pub fn text<'a>(told: &'a Value, name: &str) -> &'a str {
    told[name].as_str().unwrap_or_default()
}

/// Tells messages: one of a user's may hold several of the harness's.
pub fn tell_all<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Vec<Value> {
    messages.into_iter().flat_map(tell).collect()
}

fn tell(message: &Message) -> Vec<Value> {
    match message {
        Message::System { content } => vec![json!({ "role": "system", "content": content })],
        Message::User { content } => content.iter().filter_map(tell_part).collect(),
        Message::Assistant(said) => vec![tell_answer(&said.content)],
    }
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

pub fn tell_answer(content: &[AssistantContent]) -> Value {
    let texts = content.iter().filter_map(|part| match part {
        AssistantContent::Text(said) => Some(said.text.as_str()),
        _ => None,
    });
    let calls = content.iter().filter_map(|part| match part {
        AssistantContent::ToolCall(call) => Some(tell_call(call)),
        _ => None,
    });
    let mut told = json!({ "role": "assistant", "content": texts.collect::<String>() });
    let calls: Vec<Value> = calls.collect();
    if !calls.is_empty() {
        told["tool_calls"] = calls.into();
    }
    told
}

fn tell_call(call: &ToolCall) -> Value {
    let ToolFunction { name, invalid_arguments, .. } = &call.function;
    let arguments = invalid_arguments.clone();
    let arguments = arguments.unwrap_or_else(|| call.function.arguments_value().to_string());
    json!({ "id": call_id(&call.id), "name": name.as_str(), "arguments": arguments })
}

/// Tells which tools a model is shown.
pub fn infos(tools: &[ToolDefinition]) -> Vec<Value> {
    let info = |each: &ToolDefinition| json!({ "name": each.name.as_str(), "description": each.description });
    tools.iter().map(info).collect()
}
