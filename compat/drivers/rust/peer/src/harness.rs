use crate::{
    Failed, Reply,
    wire::{Peer, locked},
};
use futures::future::{AbortHandle, BoxFuture, abortable};
use serde_json::{Map, Value, json};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

/// What a wrapper stands around: it goes on from what the wrapper hands on.
pub type Next = Arc<dyn Fn(Value) -> BoxFuture<'static, Reply> + Send + Sync>;

/// The wrappers of an agent that are entered, by their tokens.
#[derive(Clone, Default)]
pub(crate) struct Entered(Arc<Mutex<Wrappers>>);

#[derive(Default)]
struct Wrappers {
    last: u64,
    open: BTreeMap<u64, (Next, Vec<AbortHandle>)>,
}

impl Entered {
    fn enter(&self, next: Next) -> Token {
        let mut wrappers = locked(&self.0);
        wrappers.last += 1;
        let number = wrappers.last;
        wrappers.open.insert(number, (next, Vec::new()));
        Token { number, entered: self.clone() }
    }

    /// Goes on into what a wrapper stands around, as long as the wrapper is open.
    pub(crate) async fn next(self, params: Value) -> Reply {
        let inner = {
            let mut wrappers = locked(&self.0);
            let token = params["token"].as_u64().unwrap_or_default();
            let (next, inside) = wrappers.open.get_mut(&token).ok_or_else(Failed::cancelled)?;
            let (inner, handle) = abortable(next(params));
            inside.push(handle);
            inner
        };
        inner.await.unwrap_or_else(|_| Err(Failed::cancelled()))
    }
}

struct Token {
    number: u64,
    entered: Entered,
}

impl Drop for Token {
    fn drop(&mut self) {
        let left = locked(&self.entered.0).open.remove(&self.number);
        left.into_iter().flat_map(|(_, inside)| inside).for_each(|handle| handle.abort());
    }
}

/// What a run of an agent asks of the harness: its model, its tools and its hooks.
#[derive(Clone)]
pub struct Harness {
    pub(crate) peer: Peer,
    pub(crate) entered: Entered,
    /// Of all runs of the driver.
    pub(crate) place: u64,
    pub(crate) agent: Value,
    pub(crate) run: Value,
    pub(crate) name: Value,
    pub(crate) context: Value,
}

impl Harness {
    /// Asks the model for a whole answer.
    pub async fn model(&self, messages: Vec<Value>, tools: Vec<Value>) -> Reply {
        self.call("model", json!({ "mode": "invoke", "messages": messages, "tools": tools })).await
    }

    /// Calls a tool.
    pub async fn tool(&self, tool: u64, call: &str, arguments: &str) -> Result<String, Failed> {
        let asked = json!({ "tool": tool, "mode": "invoke", "call_id": call, "arguments": arguments });
        self.call("tool", asked).await.map(result)
    }

    /// Asks what answers a call of a tool that is not there.
    pub async fn unknown_tool(&self, name: &str, call: &str, arguments: &str) -> Result<String, Failed> {
        let asked = json!({ "name": name, "call_id": call, "arguments": arguments });
        self.call("unknown_tool", asked).await.map(result)
    }

    /// Enters a hook; what else it is given stands in `given`.
    pub async fn hook(&self, handler: usize, hook: &str, mut given: Value) -> Reply {
        given["handler"] = handler.into();
        given["hook"] = hook.into();
        self.call("hook", given).await
    }

    /// Enters a hook that wraps a call, which goes on by `next`.
    pub async fn around(&self, handler: usize, hook: &str, mut given: Value, next: Next) -> Reply {
        let token = self.entered.enter(next);
        given["token"] = token.number.into();
        self.hook(handler, hook, given).await
    }

    /// Reports an event of the engine.
    pub fn tell(&self, event: Value) {
        let mut told = Map::from_iter([
            ("agent".to_owned(), self.agent.clone()),
            ("run".to_owned(), self.run.clone()),
            ("name".to_owned(), self.name.clone()),
        ]);
        told.extend(event.as_object().cloned().unwrap_or_default());
        self.peer.tell("event", told.into());
    }

    async fn call(&self, method: &str, mut params: Value) -> Reply {
        params["agent"] = self.agent.clone();
        params["ctx"] = self.context.clone();
        self.peer.call(self.place, method, params).await
    }
}

fn result(told: Value) -> String {
    told["result"].as_str().unwrap_or_default().to_owned()
}
