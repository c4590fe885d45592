//go:build subject

package eino

import (
	"context"
	"io"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"driver/peer"
)

// observed returns tools of a subject that tell when they run. Those of the world tell it
// themselves.
func (w *watch) observed(tools []tool.BaseTool) []tool.BaseTool {
	left := make([]tool.BaseTool, 0, len(tools))
	for _, each := range tools {
		left = append(left, w.observedTool(each))
	}
	return left
}

func (w *watch) observedTool(made tool.BaseTool) tool.BaseTool {
	switch made.(type) {
	case *invokableTool, *streamableTool, *bothTool, *ownInvokable, *ownStreamable, *ownBoth:
		return made
	}
	whole, isWhole := made.(tool.InvokableTool)
	pieces, inPieces := made.(tool.StreamableTool)
	own := ownTool{made, w}
	switch {
	case isWhole && inPieces:
		return &ownBoth{ownInvokable{own, whole}, ownStreamable{own, pieces}}
	case isWhole:
		return &ownInvokable{own, whole}
	case inPieces:
		return &ownStreamable{own, pieces}
	}
	return made // of a kind that only newer versions have
}

type ownTool struct {
	tool.BaseTool
	watch *watch
}

// tell puts down what a run of the tool does, in its place among all else.
func (t *ownTool) tell(ctx context.Context, kind string, data peer.Obj) {
	asked := peer.Obj{"kind": kind, "data": data, "ctx": ctxOf(ctx), "call_id": compose.GetToolCallID(ctx)}
	_ = t.watch.agent.peer.Call("tool_run", t.watch.agent.target(asked), nil)
}

// begin tells that a run begins, and returns what tells of an error that ends it.
func (t *ownTool) begin(ctx context.Context, mode, arguments string) func(error) error {
	name, about := "", ""
	if info, err := t.Info(ctx); err == nil && info != nil {
		name, about = info.Name, info.Desc
	}
	t.tell(ctx, "tool_start", peer.Obj{"name": name, "arguments": arguments, "mode": mode,
		"implementation": "the subject's: " + about})
	return func(err error) error {
		if err != nil && err != io.EOF {
			t.tell(ctx, "tool_error", peer.Obj{"error": peer.TypeOf(err)})
			_ = t.watch.blame(err, peer.Obj{"tool": name, "call_id": compose.GetToolCallID(ctx)})
		}
		return err
	}
}

type ownInvokable struct {
	ownTool
	own tool.InvokableTool
}

func (t *ownInvokable) InvokableRun(ctx context.Context, arguments string, options ...tool.Option) (string, error) {
	ended := t.begin(ctx, "invoke", arguments)
	result, err := t.own.InvokableRun(ctx, arguments, options...)
	if err == nil {
		t.tell(ctx, "tool_end", peer.Obj{"result": result})
	}
	return result, ended(err)
}

type ownStreamable struct {
	ownTool
	own tool.StreamableTool
}

func (t *ownStreamable) StreamableRun(ctx context.Context, arguments string, options ...tool.Option) (*schema.StreamReader[string], error) {
	ended := t.begin(ctx, "stream", arguments)
	reader, err := t.own.StreamableRun(ctx, arguments, options...)
	if err != nil || reader == nil {
		return reader, ended(err)
	}
	return schema.StreamReaderWithConvert(reader, func(chunk string) (string, error) {
		t.tell(ctx, "tool_chunk", peer.Obj{"chunk": chunk})
		return chunk, nil
	}), nil
}

type ownBoth struct {
	ownInvokable
	pieces ownStreamable
}

func (t *ownBoth) StreamableRun(ctx context.Context, arguments string, options ...tool.Option) (*schema.StreamReader[string], error) {
	return t.pieces.StreamableRun(ctx, arguments, options...)
}
