//! The model of the harness: a wire whose payload is rig's request, as one of a vendor's is, and a
//! transport that asks the harness.

use crate::agent::Run;
use crate::messages::{infos, native, text};
use futures::stream;
use peer::Failed;
use rig_core::DynModel;
use rig_core::completion::options::{Mapping, OptionFields, OptionMap};
use rig_core::completion::{Accepts, CompletionRequest, FinishReason, ReplayTarget};
use rig_core::driver::{Exchange, Model, Opened, Opening, Transport};
use rig_core::error::{EncodeError, ErrorKind, ErrorReport, ProviderError};
use rig_core::message::{Api, Origin};
use rig_core::operation::{Block, CallFragment, Completion, Finish};
use rig_core::wire::document::{Reassemble, Serves};
use rig_core::wire::{Decoder, Descriptor, Flow, Mode, Out, Wire, WireEvent};
use serde_json::Value;
use std::marker::PhantomData;

const NAME: &str = "refengine";

/// Returns the model of a run.
pub fn model(run: Run) -> DynModel<Completion> {
    Model::new(Told, Asked(run)).erase()
}

/// Where an answer comes from that no model gave.
pub fn origin() -> Origin {
    Origin::new(Told.api(), NAME, NAME)
}

/// Returns an error as rig hands it on, with all that the harness knows it by.
pub fn report(failed: Failed) -> ErrorReport {
    ErrorReport::new(ErrorKind::Other, failed.message.clone()).with_code(failed.packed())
}

/// Reads such an error; any other is one of rig's own.
pub fn failed(report: &ErrorReport) -> Failed {
    let packed = report.code.as_deref().map(Failed::unpacked);
    packed.unwrap_or_else(|| Failed::new(report.message.clone()))
}

#[derive(Clone, Debug)]
struct Told;

impl ReplayTarget for Told {
    fn api(&self) -> Api {
        Api::from_static(NAME)
    }

    fn provider(&self) -> &str {
        NAME
    }

    fn model(&self) -> &str {
        NAME
    }

    fn accepts(&self, _model: &str) -> Accepts {
        Accepts::ALL
    }

    /// Nobody sets any of them.
    fn map_options(&self, _request: &CompletionRequest, _fields: OptionFields<'_>) -> OptionMap {
        OptionMap {
            reasoning: Mapping::Nothing,
            cache: Mapping::Nothing,
            service_tier: Mapping::Nothing,
            verbosity: Mapping::Nothing,
            parallel_tool_calls: Mapping::Nothing,
            top_p: Mapping::Nothing,
            seed: Mapping::Nothing,
            stop: Mapping::Nothing,
        }
    }
}

/// A message, or a piece of one; none is the end.
type Frame = Option<Value>;

impl Wire for Told {
    type Op = Completion;
    type Payload = CompletionRequest;
    type Frame = Frame;
    type Decoder<'id> = Reading<'id>;
    type Reassembler = Unkept;

    fn describe(&self) -> Descriptor<'_> {
        Descriptor::new(NAME).replay(self)
    }

    fn encode(&self, request: CompletionRequest, _mode: Mode) -> Result<CompletionRequest, EncodeError> {
        Ok(request)
    }

    fn decoder<'id>(&self) -> Reading<'id> {
        Reading(PhantomData)
    }
}

/// What a vendor sent is not kept: it is what the answer says.
#[derive(Default)]
struct Unkept;

impl Serves<Completion> for Unkept {}

impl Reassemble<Frame> for Unkept {
    fn absorb(&mut self, _frame: &Frame) {}

    fn finish(self) -> Value {
        Value::Null
    }
}

struct Reading<'id>(PhantomData<fn(&'id ()) -> &'id ()>);

impl<'id> Decoder<'id, Completion, Frame> for Reading<'id> {
    type Event = Frame;

    fn classify(&self, frame: Frame) -> WireEvent<Frame> {
        WireEvent::Known(frame)
    }

    fn decode(&mut self, frame: Frame, mut out: Out<'id, Completion>) -> Result<Flow, ProviderError> {
        let Some(told) = frame else {
            out.end_run()?;
            out.finish_open()?;
            return Ok(out.end(Finish { reason: Some(FinishReason::Stop), ..Finish::default() }));
        };
        if !text(&told, "content").is_empty() {
            let at = out.run(Block::Text, text(&told, "content"))?;
            out.edit(at, |item| *item = native(&told))?;
        }
        for (at, call) in told["tool_calls"].as_array().into_iter().flatten().enumerate() {
            out.end_run()?;
            // A call has its place in the answer, also where it comes in pieces.
            let at = call["index"].as_u64().map_or(at, |index| index as usize) + 1;
            let said = |name| call[name].as_str();
            let fragment = CallFragment { id: said("id"), name: said("name"), arguments: said("arguments") };
            out.fragment(Some(at), fragment)?;
        }
        Ok(Flow::More)
    }
}

#[derive(Clone)]
struct Asked(Run);

impl Transport<Told> for Asked {
    fn send(&self, request: CompletionRequest, _exchange: Exchange) -> Opening<Frame> {
        let Run { harness, messages, .. } = self.0.clone();
        Opening::new(async move {
            let told = messages.tell_all(&request.chat_history);
            let answer =
                harness.model(told, infos(&request.tools)).await.inspect(|answer| messages.note(answer));
            let answer = answer.map_err(|failed| ProviderError::Relayed(Box::new(report(failed))))?;
            Ok(Opened::new(stream::iter([Ok(Some(answer)), Ok(None)])))
        })
    }
}
