//go:build !v07

package eino

import (
	"context"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"driver/peer"
)

func (a *agent) addHandlers(made *adk.ChatModelAgentConfig, handlers [][]string) {
	for at, hooks := range handlers {
		has := map[string]bool{}
		for _, each := range hooks {
			has[each] = true
		}
		made.Handlers = append(made.Handlers, newHandler(handler{agent: a, at: at, has: has}))
	}
}

// handler has the hooks that a handler of the harness has; the others do what eino's base
// does.
type handler struct {
	*adk.BaseChatModelAgentMiddleware
	agent *agent
	at    int
	has   map[string]bool
}

func (h *handler) params(hook string, ctx context.Context, more peer.Obj) peer.Obj {
	more["handler"], more["hook"], more["ctx"] = h.at, hook, ctxOf(ctx)
	return h.agent.target(more)
}

func (h *handler) BeforeAgent(ctx context.Context, rc *adk.ChatModelAgentContext) (context.Context, *adk.ChatModelAgentContext, error) {
	if !h.has["before_agent"] {
		return ctx, rc, nil
	}
	specs := make([]toolSpec, 0, len(rc.Tools))
	given := map[int64]tool.BaseTool{}
	for _, each := range rc.Tools {
		spec, err := specOf(ctx, each)
		if err != nil {
			return ctx, rc, err
		}
		given[spec.Tool] = each
		specs = append(specs, spec)
	}
	var got struct {
		Ctx         int64           `json:"ctx"`
		Instruction string          `json:"instruction"`
		Tools       *[]toolSpec     `json:"tools"`
		Direct      map[string]bool `json:"return_directly"`
	}
	asked := h.params("before_agent", ctx, peer.Obj{"instruction": rc.Instruction, "tools": specs,
		"return_directly": rc.ReturnDirectly})
	if err := h.agent.peer.Call("hook", asked, &got); err != nil {
		return ctx, rc, err
	}
	rc.Instruction, rc.ReturnDirectly = got.Instruction, got.Direct
	rc.Tools = h.left(got.Tools, given)
	return withCtx(ctx, got.Ctx), rc, nil
}

// left are the tools that a hook leaves: nil for none at all, which eino takes for no change.
func (h *handler) left(specs *[]toolSpec, given map[int64]tool.BaseTool) []tool.BaseTool {
	if specs == nil {
		return nil
	}
	tools := []tool.BaseTool{}
	for _, spec := range *specs {
		if known, ok := given[spec.Tool]; ok {
			tools = append(tools, known)
		} else {
			tools = append(tools, h.agent.tool(spec))
		}
	}
	return tools
}

// rewrite asks for the history that a hook leaves.
func (h *handler) rewrite(ctx context.Context, hook string, state *adk.ChatModelAgentState) (context.Context, error) {
	var got struct {
		Ctx      int64      `json:"ctx"`
		Messages *[]message `json:"messages"`
	}
	told := h.agent.tellAll(state.Messages)
	asked := h.params(hook, ctx, peer.Obj{"messages": told})
	if err := h.agent.peer.Call("hook", asked, &got); err != nil {
		return ctx, err
	}
	h.agent.knows(state.Messages, told)
	if got.Messages != nil {
		left, err := h.agent.readAll(*got.Messages)
		if err != nil {
			return ctx, err
		}
		state.Messages = left
	}
	return withCtx(ctx, got.Ctx), nil
}

func (h *handler) BeforeModelRewriteState(ctx context.Context, state *adk.ChatModelAgentState, _ *adk.ModelContext) (context.Context, *adk.ChatModelAgentState, error) {
	return h.around("before_model_rewrite_history", ctx, state)
}

func (h *handler) AfterModelRewriteState(ctx context.Context, state *adk.ChatModelAgentState, _ *adk.ModelContext) (context.Context, *adk.ChatModelAgentState, error) {
	return h.around("after_model_rewrite_history", ctx, state)
}

func (h *handler) around(hook string, ctx context.Context, state *adk.ChatModelAgentState) (context.Context, *adk.ChatModelAgentState, error) {
	if !h.has[hook] {
		return ctx, state, nil
	}
	ctx, err := h.rewrite(ctx, hook, state)
	return ctx, state, err
}

func (h *handler) ofCall(hook string, ctx context.Context, arguments string, of *adk.ToolContext) peer.Obj {
	return h.params(hook, ctx, peer.Obj{"name": of.Name, "arguments": arguments, "call_id": of.CallID})
}

func (h *handler) WrapInvokableToolCall(_ context.Context, next adk.InvokableToolCallEndpoint, of *adk.ToolContext) (adk.InvokableToolCallEndpoint, error) {
	if !h.has["wrap_invokable_tool_call"] {
		return next, nil
	}
	return func(ctx context.Context, arguments string, options ...tool.Option) (string, error) {
		var got endpointResult
		asked := h.ofCall("wrap_invokable_tool_call", ctx, arguments, of)
		err := h.agent.around(h.agent.peer.CallBeside, "hook", asked, func(n nextParams) (any, error) {
			out, err := next(withCtx(ctx, n.Ctx), n.Arguments, options...)
			if err != nil {
				return nil, err
			}
			return peer.Obj{"result": out}, nil
		}, &got)
		return got.Result, err
	}, nil
}

func (h *handler) WrapStreamableToolCall(_ context.Context, next adk.StreamableToolCallEndpoint, of *adk.ToolContext) (adk.StreamableToolCallEndpoint, error) {
	if !h.has["wrap_streamable_tool_call"] {
		return next, nil
	}
	return func(ctx context.Context, arguments string, options ...tool.Option) (*schema.StreamReader[string], error) {
		var got endpointResult
		asked := h.ofCall("wrap_streamable_tool_call", ctx, arguments, of)
		err := h.agent.around(h.agent.peer.CallBeside, "hook", asked, func(n nextParams) (any, error) {
			out, err := next(withCtx(ctx, n.Ctx), n.Arguments, options...)
			if err != nil {
				return nil, err
			}
			return streamed{offer(h.agent, out, tellText)}, nil
		}, &got)
		if err != nil {
			return nil, err
		}
		return pulled(h.agent, got.Stream, readText), nil
	}, nil
}

func (h *handler) WrapModel(_ context.Context, m model.BaseChatModel, _ *adk.ModelContext) (model.BaseChatModel, error) {
	if !h.has["wrap_model_call"] {
		return m, nil
	}
	return &wrappedModel{h, m}, nil
}

type wrappedModel struct {
	handler *handler
	inner   model.BaseChatModel
}

type goOn func(context.Context, []*schema.Message, []model.Option) (any, error)

func (w *wrappedModel) ask(ctx context.Context, input []*schema.Message, options []model.Option, streaming bool, on goOn, into any) error {
	a := w.handler.agent
	infos := model.GetCommonOptions(&model.Options{}, options...).Tools
	told := a.tellAll(input)
	asked := w.handler.params("wrap_model_call", ctx, peer.Obj{"messages": told,
		"tools": infosOf(infos), "streaming": streaming})
	return a.around(a.peer.Call, "hook", asked, func(n nextParams) (any, error) {
		a.knows(input, told)
		messages, err := a.readAll(n.Messages)
		if err != nil {
			return nil, err
		}
		given := options
		if n.Tools != nil {
			given = append(append([]model.Option{}, options...), model.WithTools(chosen(infos, *n.Tools)))
		}
		return on(withCtx(ctx, n.Ctx), messages, given)
	}, into)
}

// chosen are the tools of those names, in that order.
func chosen(infos []*schema.ToolInfo, names []string) []*schema.ToolInfo {
	left := []*schema.ToolInfo{}
	for _, name := range names {
		for _, each := range infos {
			if each.Name == name {
				left = append(left, each)
				break
			}
		}
	}
	return left
}

func (w *wrappedModel) Generate(ctx context.Context, input []*schema.Message, options ...model.Option) (*schema.Message, error) {
	a := w.handler.agent
	var got message
	err := w.ask(ctx, input, options, false, func(ctx context.Context, input []*schema.Message, options []model.Option) (any, error) {
		answer, err := w.inner.Generate(ctx, input, options...)
		if err != nil {
			return nil, err
		}
		return a.tell(answer), nil
	}, &got)
	if err != nil {
		return nil, err
	}
	return a.read(got)
}

func (w *wrappedModel) Stream(ctx context.Context, input []*schema.Message, options ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	a := w.handler.agent
	var got streamed
	err := w.ask(ctx, input, options, true, func(ctx context.Context, input []*schema.Message, options []model.Option) (any, error) {
		reader, err := w.inner.Stream(ctx, input, options...)
		if err != nil {
			return nil, err
		}
		return streamed{offer(a, reader, tellChunk)}, nil
	}, &got)
	if err != nil {
		return nil, err
	}
	return pulled(a, got.Stream, a.readChunk), nil
}
