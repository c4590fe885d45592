use crate::Failed;
use futures::{
    FutureExt, channel::oneshot, executor::LocalPool, future::LocalBoxFuture, task::LocalSpawnExt,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    io::{self, BufRead, BufReader, Write},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

/// What a call is answered with.
pub type Reply = Result<Value, Failed>;

/// What answers a call of the harness, in its own time.
pub(crate) type Answer = LocalBoxFuture<'static, Reply>;

/// Locks what no panic leaves half done.
pub(crate) fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What was said in one turn, in the order in which it goes out.
#[derive(Default)]
struct Said {
    events: Vec<Value>,
    replies: Vec<Value>,
    calls: Vec<Value>,
}

#[derive(Default)]
struct Shared {
    last: u64,
    waiting: BTreeMap<u64, Waiting>,
    quiet: Vec<(u64, oneshot::Sender<()>)>,
    said: Said,
}

struct Waiting {
    run: u64,
    answer: oneshot::Sender<Reply>,
}

/// This end of the connection: one thread, in turns. It takes a frame, lets everything run that can
/// run because of it, and only then takes the next.
#[derive(Clone, Default)]
pub(crate) struct Peer(Arc<Mutex<Shared>>);

impl Peer {
    /// Sends a notification.
    pub(crate) fn tell(&self, method: &str, params: Value) {
        let frame = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        locked(&self.0).said.events.push(frame);
    }

    /// Asks the harness, for a run.
    pub(crate) fn call(&self, run: u64, method: &str, params: Value) -> Call {
        let (answer, answered) = oneshot::channel();
        let agent = params["agent"].clone();
        let mut shared = locked(&self.0);
        shared.last += 1;
        let id = shared.last;
        shared.waiting.insert(id, Waiting { run, answer });
        let frame = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        shared.said.calls.push(frame);
        Call { peer: self.clone(), id, agent, answered }
    }

    /// Waits until the harness does nothing more for a run.
    pub(crate) async fn quiet(&self, run: u64) {
        let (ended, waited) = oneshot::channel();
        locked(&self.0).quiet.push((run, ended));
        self.tell_quiet();
        let _ = waited.await;
    }

    fn tell_quiet(&self) {
        let mut shared = locked(&self.0);
        let busy: Vec<u64> = shared.waiting.values().map(|each| each.run).collect();
        shared.quiet.retain(|(run, _)| busy.contains(run));
    }

    /// Answers until the harness asks for the end, or closes its own.
    pub(crate) fn serve(&self, answer: &dyn Fn(&str, Value) -> Option<Answer>) -> io::Result<()> {
        let mut input = BufReader::with_capacity(1 << 16, io::stdin().lock());
        let mut output = io::stdout().lock();
        let mut pool = LocalPool::new();
        let (mut line, mut unsent) = (String::new(), Vec::new());
        while {
            line.clear();
            input.read_line(&mut line)? > 0
        } {
            let frame: Value = serde_json::from_str(&line)?;
            let is_over = frame["method"] == "shutdown";
            self.take(frame, &pool.spawner(), answer);
            pool.run_until_stalled();
            self.end_turn(&mut unsent)?;
            if is_over || !input.buffer().contains(&b'\n') {
                output.write_all(&unsent)?;
                output.flush()?;
                unsent.clear();
            }
            if is_over {
                break;
            }
        }
        Ok(())
    }

    fn take(
        &self,
        frame: Value,
        spawner: &impl LocalSpawnExt,
        answer: &dyn Fn(&str, Value) -> Option<Answer>,
    ) {
        let Some(method) = frame["method"].as_str() else { return self.resolve(&frame) };
        let (peer, id) = (self.clone(), frame.get("id").cloned());
        let answering = answer(method, frame["params"].clone());
        let missing = answering.is_none().then(|| format!("there is no method {method}"));
        let task = async move {
            let reply = match answering {
                Some(answering) => answering.await.map_err(|failed| failed.told()),
                None => Err(json!({ "code": -32601, "message": missing })),
            };
            if let Some(id) = id {
                peer.reply(&id, reply);
            }
        };
        // A pool that lives as long as the frames come takes every task.
        let _ = spawner.spawn_local(task);
    }

    fn reply(&self, id: &Value, reply: Result<Value, Value>) {
        let frame = match reply {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
        };
        locked(&self.0).said.replies.push(frame);
    }

    fn resolve(&self, frame: &Value) {
        let waiting = frame["id"].as_u64().and_then(|id| locked(&self.0).waiting.remove(&id));
        let reply = match frame.get("error") {
            Some(error) => Err(Failed::read(error)),
            None => Ok(frame["result"].clone()),
        };
        // Nobody is there to hear what became of a call that was given up.
        let _ = waiting.map(|waiting| waiting.answer.send(reply));
        self.tell_quiet();
    }

    fn end_turn(&self, unsent: &mut Vec<u8>) -> io::Result<()> {
        let Said { events, replies, calls } = std::mem::take(&mut locked(&self.0).said);
        for frame in events.iter().chain(&replies).chain(&calls) {
            serde_json::to_writer(&mut *unsent, frame)?;
            unsent.push(b'\n');
        }
        Ok(())
    }
}

/// A call that waits for its answer. Who drops it before gives the call up.
pub(crate) struct Call {
    peer: Peer,
    id: u64,
    agent: Value,
    answered: oneshot::Receiver<Reply>,
}

impl Future for Call {
    type Output = Reply;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Reply> {
        let answered = self.answered.poll_unpin(context);
        answered.map(|reply| reply.unwrap_or_else(|_| Err(Failed::cancelled())))
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let is_open = locked(&self.peer.0).waiting.contains_key(&self.id);
        if is_open {
            let params = json!({ "agent": self.agent, "call": self.id });
            self.peer.tell("abandon", params);
        }
    }
}
