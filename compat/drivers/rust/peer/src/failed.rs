use serde_json::{Value, json};
use std::{error::Error, fmt};

/// An error that keeps what the harness knows it by: a number of its own, or a kind of the engine's.
#[derive(Clone, Debug)]
pub struct Failed {
    /// What people read.
    pub message: String,
    /// What the harness is told beside it.
    pub data: Value,
}

impl Failed {
    /// An error of the engine, of which no more is known.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), data: json!({}) }
    }

    /// An error of the engine, which says by its kind what it is.
    pub fn of(kind: &str, message: impl Into<String>) -> Self {
        Self { message: message.into(), data: json!({ "kind": kind }) }
    }

    /// What became of a call that nobody waits for any more.
    pub(crate) fn cancelled() -> Self {
        Self::of("cancelled", "cancelled")
    }

    /// Reads the error of a reply.
    pub(crate) fn read(told: &Value) -> Self {
        let message = told["message"].as_str().unwrap_or_default();
        let data = told.get("data").filter(|data| data.is_object());
        Self { message: message.to_owned(), data: data.cloned().unwrap_or_else(|| json!({})) }
    }

    /// Returns it as the harness is told of it.
    pub fn told(&self) -> Value {
        json!({ "code": -32000, "message": self.message, "data": self.data })
    }

    /// Returns it as a text, for engines that hand on no more of an error.
    pub fn packed(&self) -> String {
        self.told().to_string()
    }

    /// Reads such a text; any other is the message of an error of the engine.
    pub fn unpacked(text: &str) -> Self {
        let told = serde_json::from_str::<Value>(text).ok();
        let told = told.filter(|told| told["code"] == -32000);
        told.map_or_else(|| Self::new(text), |told| Self::read(&told))
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, into: &mut fmt::Formatter<'_>) -> fmt::Result {
        into.write_str(&self.message)
    }
}

impl Error for Failed {}
