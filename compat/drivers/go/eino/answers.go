package main

import (
	"context"
	"io"
	"sync"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
)

// The answer of a run is what the chain around the agent gives. eino tells it nobody by an
// event, since its event is of the response before hooks went over it.

type answerKey struct{}

// answer waits for the end of one run's chain.
type answer struct {
	mu     sync.Mutex
	whole  *schema.Message
	stream *schema.StreamReader[callbacks.CallbackOutput]
}

// read returns the answer once nothing runs any more; nil if there was none, or if it is of
// a call whose result was told as a stream: who runs the agent without asking for its answer
// reads that alone, and its first chunk, which says whose it is, has been read by then.
func (w *answer) read(streamed map[string]bool) *schema.Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stream == nil {
		return w.whole
	}
	reader := schema.StreamReaderWithConvert(w.stream, func(out callbacks.CallbackOutput) (*schema.Message, error) {
		if m, ok := out.(*schema.Message); ok {
			return m, nil
		}
		return nil, schema.ErrNoValue
	})
	defer reader.Close()
	var chunks []*schema.Message
	for {
		chunk, err := reader.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil // the run has failed, and says so by its last event
		}
		if chunk.Role == schema.Tool && streamed[chunk.ToolCallID] {
			return nil
		}
		chunks = append(chunks, chunk)
	}
	whole, err := schema.ConcatMessages(chunks)
	if err != nil {
		return nil // there is none, or it cannot be joined
	}
	return whole
}

// atEnd hears the ends of chains, and of nothing else: who hears a stream has it copied.
type atEnd struct{ callbacks.Handler }

func init() { callbacks.AppendGlobalHandlers(atEnd{callbacks.NewHandlerBuilder().Build()}) }

func (atEnd) Needed(_ context.Context, info *callbacks.RunInfo, timing callbacks.CallbackTiming) bool {
	ends := timing == callbacks.TimingOnEnd || timing == callbacks.TimingOnEndWithStreamOutput
	return ends && info != nil && info.Component == compose.ComponentOfChain
}

func (atEnd) OnEnd(ctx context.Context, _ *callbacks.RunInfo, out callbacks.CallbackOutput) context.Context {
	if waiting, ok := ctx.Value(answerKey{}).(*answer); ok {
		waiting.mu.Lock()
		defer waiting.mu.Unlock()
		waiting.whole, _ = out.(*schema.Message)
	}
	return ctx
}

func (atEnd) OnEndWithStreamOutput(ctx context.Context, _ *callbacks.RunInfo, out *schema.StreamReader[callbacks.CallbackOutput]) context.Context {
	waiting, ok := ctx.Value(answerKey{}).(*answer)
	if !ok {
		out.Close()
		return ctx
	}
	waiting.mu.Lock()
	defer waiting.mu.Unlock()
	waiting.stream = out
	return ctx
}
