use crate::{
    Failed, Harness, Reply,
    harness::Entered,
    wire::{Answer, Peer},
};
use futures::{
    FutureExt,
    future::{AbortHandle, LocalBoxFuture, abortable, ready},
};
use serde_json::{Value, json};
use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    io,
    rc::Rc,
};

const PROTOCOL: u64 = 2;
/// Wrappers within wrappers, and the frames of each, have to fit into it: bytes.
const STACK: usize = 1 << 30;

/// What an engine says of itself.
pub struct About {
    pub engine: &'static str,
    pub version: &'static str,
    pub profile: &'static str,
    pub capabilities: &'static [&'static str],
}

/// An agent that an engine built.
pub trait Agent {
    /// Plays a run, and tells each event of the engine as it comes.
    fn run(&self, harness: Harness, asked: Value) -> LocalBoxFuture<'static, Reply>;
}

/// An engine behind a driver.
pub trait Engine: Send + 'static {
    fn about(&self) -> About;

    /// Builds an agent, or says why there is none like this.
    fn build(&self, config: Value) -> Result<Box<dyn Agent>, Failed>;
}

/// Drives an engine until the harness asks for the end.
pub fn drive(engine: impl Engine) -> io::Result<()> {
    let driving = move || {
        let driver = Rc::new(Driver {
            engine,
            peer: Peer::default(),
            built: RefCell::default(),
            runs: Cell::default(),
        });
        let peer = driver.peer.clone();
        peer.serve(&move |method, params| driver.clone().answer(method, params))
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(driving)?;
    thread.join().unwrap_or_else(|_| Err(io::Error::other("the driver panicked")))
}

struct Built {
    agent: Box<dyn Agent>,
    name: Value,
    entered: Entered,
    runs: BTreeMap<u64, AbortHandle>,
}

struct Driver<E> {
    engine: E,
    peer: Peer,
    built: RefCell<BTreeMap<u64, Built>>,
    runs: Cell<u64>,
}

impl<E: Engine> Driver<E> {
    fn answer(self: Rc<Self>, method: &str, params: Value) -> Option<Answer> {
        let nothing = || Ok(json!({}));
        let reply = match method {
            "initialize" => Ok(self.about()),
            "build" => self.build(&params).and_then(|()| nothing()),
            "run" => return Some(self.run(params).boxed_local()),
            "next" => return Some(self.next(params)),
            "cancel" => self.cancel(&params).and_then(|()| nothing()),
            "reset" => {
                self.built.borrow_mut().remove(&number(&params, "agent"));
                nothing()
            }
            // Nothing goes out by itself.
            "settle" | "shutdown" => nothing(),
            _ => return None,
        };
        Some(ready(reply).boxed_local())
    }

    fn about(&self) -> Value {
        let About { engine, version, profile, capabilities } = self.engine.about();
        json!({
            "protocol": PROTOCOL, "language": "rust", "dialect": "react",
            "engine": engine, "version": version, "profile": profile, "capabilities": capabilities,
        })
    }

    /// Does something with the agent that a call is about.
    fn with<T>(&self, params: &Value, work: impl FnOnce(&mut Built) -> T) -> Result<T, Failed> {
        let mut built = self.built.borrow_mut();
        let found = built.get_mut(&number(params, "agent"));
        let missing = || Failed::new(format!("there is no agent {}", params["agent"]));
        found.map(work).ok_or_else(missing)
    }

    fn build(&self, params: &Value) -> Result<(), Failed> {
        let agent = self.engine.build(params["config"].clone())?;
        let name = params["config"]["name"].clone();
        let built = Built { agent, name, entered: Entered::default(), runs: BTreeMap::new() };
        self.built.borrow_mut().insert(number(params, "agent"), built);
        Ok(())
    }

    async fn run(self: Rc<Self>, asked: Value) -> Reply {
        let place = self.runs.get() + 1;
        self.runs.set(place);
        let (harness, run) = self.with(&asked, |built| {
            let harness = Harness {
                peer: self.peer.clone(),
                entered: built.entered.clone(),
                place,
                agent: asked["agent"].clone(),
                run: asked["run"].clone(),
                name: built.name.clone(),
                context: asked["ctx"].clone(),
            };
            let (run, handle) = abortable(built.agent.run(harness.clone(), asked.clone()));
            built.runs.insert(number(&asked, "run"), handle);
            (harness, run)
        })?;
        // What a run that was given up leaves undone is waited for, and nobody hears of it.
        let ended = run.await.unwrap_or_else(|_| Ok(json!({})));
        self.peer.quiet(place).await;
        let _ = self.with(&asked, |built| built.runs.remove(&number(&asked, "run")));
        Ok(ended.unwrap_or_else(|failed| {
            harness.tell(json!({ "error": failed.told() }));
            json!({})
        }))
    }

    fn next(&self, params: Value) -> Answer {
        match self.with(&params, |built| built.entered.clone()) {
            Ok(entered) => entered.next(params).boxed_local(),
            Err(failed) => ready(Err(failed)).boxed_local(),
        }
    }

    fn cancel(&self, params: &Value) -> Result<(), Failed> {
        let handle = self.with(params, |built| built.runs.remove(&number(params, "run")))?;
        handle.inspect(AbortHandle::abort);
        Ok(())
    }
}

fn number(params: &Value, name: &str) -> u64 {
    params[name].as_u64().unwrap_or_default()
}
