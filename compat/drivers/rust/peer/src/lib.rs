//! A driver's end of the protocol, for any engine in Rust: docs/protocol.md has every frame.

mod driver;
mod failed;
mod harness;
mod wire;

pub use driver::{About, Agent, Engine, drive};
pub use failed::Failed;
pub use harness::{Harness, Next};
pub use wire::Reply;
