package eino

import (
	"context"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"

	"driver/peer"
)

// toolWraps are the factories of one struct: numbers, 0 for a kind that it does not wrap.
type toolWraps struct {
	Invokable  int64 `json:"invokable"`
	Streamable int64 `json:"streamable"`
}

type structSpec struct {
	Instruction string     `json:"instruction"`
	Tools       []toolSpec `json:"tools"`
	Fields      []string   `json:"fields"`
	Wraps       toolWraps  `json:"wrap_tool_call"`
}

func (a *agent) structMiddleware(at int, spec structSpec) adk.AgentMiddleware {
	made := adk.AgentMiddleware{
		AdditionalInstruction: spec.Instruction,
		AdditionalTools:       a.tools(spec.Tools),
		WrapToolCall:          a.toolMiddleware(spec.Wraps),
	}
	for _, field := range spec.Fields {
		if field == "before_chat_model" {
			made.BeforeChatModel = a.structField(at, field)
		} else {
			made.AfterChatModel = a.structField(at, field)
		}
	}
	return made
}

func (a *agent) structField(at int, field string) func(context.Context, *adk.ChatModelAgentState) error {
	return func(ctx context.Context, state *adk.ChatModelAgentState) error {
		var got struct {
			Messages []message `json:"messages"`
		}
		told := a.tellAll(state.Messages)
		asked := a.target(peer.Obj{"struct": at, "field": field, "ctx": ctxOf(ctx),
			"state": a.refs.Of(state), "messages": told})
		if err := a.peer.Call("struct", asked, &got); err != nil {
			return err
		}
		a.knows(state.Messages, told)
		left, err := a.readAll(got.Messages)
		if err != nil {
			return err
		}
		state.Messages = left
		return nil
	}
}

// endpointResult is what a wrapper of a struct left: its result, and its input, which all
// wrappers of a call share and may change.
type endpointResult struct {
	Result string `json:"result"`
	Stream int64  `json:"stream"`
	Left   *input `json:"input"`
}

type input struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	CallID    string `json:"call_id"`
}

func inputOf(in *compose.ToolInput) *input { return &input{in.Name, in.Arguments, in.CallID} }

func (i *input) leaveIn(in *compose.ToolInput) {
	if i != nil {
		in.Name, in.Arguments, in.CallID = i.Name, i.Arguments, i.CallID
	}
}

// given is the input that a wrapper hands on: the shared one, or one of its own.
func (n nextParams) given(in *compose.ToolInput) *compose.ToolInput {
	if !n.Same {
		return &compose.ToolInput{Name: n.Name, Arguments: n.Arguments, CallID: n.CallID, CallOptions: in.CallOptions}
	}
	(&input{n.Name, n.Arguments, n.CallID}).leaveIn(in)
	return in
}

// called is a call as the model made it, whatever wrappers write into its input.
type called struct {
	Name   string `json:"name"`
	CallID string `json:"call_id"`
}

type calledKey struct{}

func asCalled(ctx context.Context, in *compose.ToolInput) context.Context {
	return context.WithValue(ctx, calledKey{}, called{in.Name, in.CallID})
}

// noting stands outermost, where an input is still that of the call.
var noting = compose.ToolMiddleware{
	Invokable: func(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
		return func(ctx context.Context, in *compose.ToolInput) (*compose.ToolOutput, error) {
			return next(asCalled(ctx, in), in)
		}
	},
	Streamable: func(next compose.StreamableToolEndpoint) compose.StreamableToolEndpoint {
		return func(ctx context.Context, in *compose.ToolInput) (*compose.StreamToolOutput, error) {
			return next(asCalled(ctx, in), in)
		}
	},
}

func (a *agent) toolMiddleware(wraps toolWraps) compose.ToolMiddleware {
	var made compose.ToolMiddleware
	if wraps.Invokable != 0 {
		made.Invokable = func(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
			return a.invokable(a.factory(wraps.Invokable), next)
		}
	}
	if wraps.Streamable != 0 {
		made.Streamable = func(next compose.StreamableToolEndpoint) compose.StreamableToolEndpoint {
			return a.streamable(a.factory(wraps.Streamable), next)
		}
	}
	return made
}

// endpoint calls what a factory of the harness made. The factory of eino has no error to
// return, so that of the harness is raised by the first call.
type endpoint func(ctx context.Context, in *compose.ToolInput, on inner) (endpointResult, error)

func (a *agent) factory(number int64) endpoint {
	var made struct {
		Endpoint int64 `json:"endpoint"`
	}
	failed := a.peer.Call("factory", a.target(peer.Obj{"factory": number}), &made)
	return func(ctx context.Context, in *compose.ToolInput, on inner) (got endpointResult, err error) {
		if failed != nil {
			return got, failed
		}
		asked := peer.Obj{"endpoint": made.Endpoint, "ctx": ctxOf(ctx),
			"name": in.Name, "arguments": in.Arguments, "call_id": in.CallID}
		if of, _ := ctx.Value(calledKey{}).(called); of.Name != in.Name || of.CallID != in.CallID {
			asked["of"] = of
		}
		err = a.around(a.peer.CallBeside, "endpoint", asked, on, &got)
		got.Left.leaveIn(in)
		return got, err
	}
}

func (a *agent) invokable(call endpoint, next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
	return func(ctx context.Context, in *compose.ToolInput) (*compose.ToolOutput, error) {
		got, err := call(ctx, in, func(n nextParams) (any, error) {
			given := n.given(in)
			out, err := next(withCtx(ctx, n.Ctx), given)
			if err != nil {
				return nil, err
			}
			return peer.Obj{"result": out.Result, "input": inputOf(given)}, nil
		})
		if err != nil {
			return nil, err
		}
		return &compose.ToolOutput{Result: got.Result}, nil
	}
}

func (a *agent) streamable(call endpoint, next compose.StreamableToolEndpoint) compose.StreamableToolEndpoint {
	return func(ctx context.Context, in *compose.ToolInput) (*compose.StreamToolOutput, error) {
		got, err := call(ctx, in, func(n nextParams) (any, error) {
			given := n.given(in)
			out, err := next(withCtx(ctx, n.Ctx), given)
			if err != nil {
				return nil, err
			}
			return peer.Obj{"stream": offer(a, out.Result, tellText), "input": inputOf(given)}, nil
		})
		if err != nil {
			return nil, err
		}
		return &compose.StreamToolOutput{Result: pulled(a, got.Stream, readText)}, nil
	}
}
