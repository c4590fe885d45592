package eino

import (
	"context"
	"io"
	"sync"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
)

// The answer of a run is what the chain around the agent gives. eino tells it nobody by an
// event, since its event is of the response before hooks went over it.

type answerKey struct{}

// answer waits for the end of one run's chain, and hears what its last calls came to: the
// event of a result says what wrappers made of its id and name, the history what they were.
type answer struct {
	mu      sync.Mutex
	whole   *schema.Message
	stream  *schema.StreamReader[callbacks.CallbackOutput]
	results outputs
}

// outputs are the results of the calls of one response, or the stream of them.
type outputs struct {
	whole  []*schema.Message
	stream *schema.StreamReader[callbacks.CallbackOutput]
}

// cameTo is what the harness is told of the end of a run.
type cameTo struct {
	Answer  *message  `json:"answer,omitempty"`
	Results []message `json:"results,omitempty"`
	Stream  int64     `json:"stream,omitempty"`
}

// told returns what a run came to; a stream, if any of it is one. The harness pulls that
// when its consumer has read what it was told, since who reads first has a stream pulled.
func (w *answer) told(a *agent) cameTo {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stream != nil || w.results.stream != nil {
		return cameTo{Stream: a.refs.Put(source(w))}
	}
	return w.read()
}

func (w *answer) pull() (piece, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	got := w.read()
	return piece{Message: got.Answer, Results: got.Results}, nil
}

func (w *answer) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begin()
	if w.stream != nil {
		w.stream.Close()
	}
}

// begin forgets the results of earlier calls.
func (w *answer) begin() {
	if w.results.stream != nil {
		w.results.stream.Close()
	}
	w.results = outputs{}
}

func (w *answer) read() (got cameTo) {
	if w.stream != nil {
		w.whole = readAnswer(w.stream)
		w.stream = nil
	}
	if w.results.stream != nil {
		w.results = outputs{whole: readResults(w.results.stream)}
	}
	if w.whole != nil {
		told := contentOf(w.whole)
		got.Answer = &told
	}
	for _, each := range w.results.whole {
		got.Results = append(got.Results, contentOf(each))
	}
	return got
}

// readAnswer returns an answer that came in chunks; nil if they cannot be joined, as those
// of a run that has failed, which says so by its last event.
func readAnswer(stream *schema.StreamReader[callbacks.CallbackOutput]) *schema.Message {
	whole, err := schema.ConcatMessageStream(schema.StreamReaderWithConvert(stream, outputOf[*schema.Message]))
	if err != nil {
		return nil
	}
	return whole
}

// readResults returns results that came in chunks, each beside those of the others: a list
// has a place for every call, and says something in one of them.
func readResults(stream *schema.StreamReader[callbacks.CallbackOutput]) (results []*schema.Message) {
	reader := schema.StreamReaderWithConvert(stream, outputOf[[]*schema.Message])
	defer reader.Close()
	var chunks [][]*schema.Message
	for {
		list, err := reader.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil
		}
		if chunks == nil {
			chunks = make([][]*schema.Message, len(list))
		}
		for at, each := range list {
			if each != nil {
				chunks[at] = append(chunks[at], each)
			}
		}
	}
	for _, each := range chunks {
		if len(each) == 0 {
			return nil // a result in chunks that has none
		}
		whole, err := schema.ConcatMessages(each)
		if err != nil {
			return nil
		}
		results = append(results, whole)
	}
	return results
}

func outputOf[T any](out callbacks.CallbackOutput) (T, error) {
	if value, ok := out.(T); ok {
		return value, nil
	}
	var none T
	return none, schema.ErrNoValue
}

// atEnd hears the ends of chains and of tools, and of nothing else: who hears a stream has
// it copied. Where model or tools begin, what earlier calls came to is over.
type atEnd struct{ callbacks.Handler }

func init() { callbacks.AppendGlobalHandlers(atEnd{callbacks.NewHandlerBuilder().Build()}) }

func (atEnd) Needed(_ context.Context, info *callbacks.RunInfo, timing callbacks.CallbackTiming) bool {
	if info == nil {
		return false
	}
	switch timing {
	case callbacks.TimingOnStart:
		return info.Component == compose.ComponentOfToolsNode || info.Component == components.ComponentOfChatModel
	case callbacks.TimingOnEnd, callbacks.TimingOnEndWithStreamOutput:
		return info.Component == compose.ComponentOfToolsNode || info.Component == compose.ComponentOfChain
	}
	return false
}

func (atEnd) OnStart(ctx context.Context, _ *callbacks.RunInfo, _ callbacks.CallbackInput) context.Context {
	if waiting, ok := ctx.Value(answerKey{}).(*answer); ok {
		waiting.mu.Lock()
		defer waiting.mu.Unlock()
		waiting.begin()
	}
	return ctx
}

func (atEnd) OnEnd(ctx context.Context, info *callbacks.RunInfo, out callbacks.CallbackOutput) context.Context {
	waiting, ok := ctx.Value(answerKey{}).(*answer)
	if !ok {
		return ctx
	}
	waiting.mu.Lock()
	defer waiting.mu.Unlock()
	if info.Component == compose.ComponentOfChain {
		waiting.whole, _ = out.(*schema.Message)
	} else {
		waiting.results.whole, _ = out.([]*schema.Message)
	}
	return ctx
}

func (atEnd) OnEndWithStreamOutput(ctx context.Context, info *callbacks.RunInfo, out *schema.StreamReader[callbacks.CallbackOutput]) context.Context {
	waiting, ok := ctx.Value(answerKey{}).(*answer)
	if !ok {
		out.Close()
		return ctx
	}
	waiting.mu.Lock()
	defer waiting.mu.Unlock()
	if info.Component == compose.ComponentOfChain {
		waiting.stream = out
	} else {
		waiting.results.stream = out
	}
	return ctx
}
