//go:build subject

package eino

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"
	"refengine/world"

	"driver/own"
	"driver/peer"
)

// loaded is the function that this process was asked to load.
var loaded *own.Subject

func kindOfSubject(err error) string { return own.KindOf(err) }

var contextType = reflect.TypeFor[context.Context]()

// subject says whether the constructor that was built in can be called.
func (d *driver) subject(params json.RawMessage) (any, error) {
	found, err := own.Load(params, d.functions, contextType)
	if err != nil {
		return nil, err
	}
	loaded = found
	return peer.Obj{"name": loaded.Name}, nil
}

// addSubject puts what the user's constructor returns into a configuration: structs after
// those of the world, handlers before its handlers.
func (a *agent) addSubject(made *adk.ChatModelAgentConfig) (any, error) {
	call := a.worldCall()
	world.Use(call)
	ctx := world.With(context.Background(), call)
	returned, err := loaded.Call(map[reflect.Type]any{contextType: ctx})
	if err != nil {
		return nil, err
	}
	seen := &watch{agent: a, hooks: []string{}, names: []string{}}
	if err := seen.add(made, returned); err != nil {
		return nil, err
	}
	if len(seen.hooks) == 0 {
		return nil, own.Wrong("%s returns nothing to look at", loaded.Name)
	}
	return peer.Obj{"hooks": seen.hooks, "names": seen.names}, nil
}

// worldCall is how a user's code speaks with the harness.
func (a *agent) worldCall() world.Call {
	return func(ctx context.Context, method string, params map[string]any, into any) error {
		params["ctx"], params["call_id"] = ctxOf(ctx), compose.GetToolCallID(ctx)
		return a.peer.Call(method, a.target(params), into)
	}
}

// watch counts how often each hook of a subject is entered, and tells what its tools do.
type watch struct {
	agent    *agent
	hooks    []string
	names    []string
	structs  int
	handlers int
}

// counter numbers a hook of the subject, and returns what tells that it is entered.
func (w *watch) counter(name string) func() {
	w.hooks = append(w.hooks, name)
	agent := w.agent
	return func() { agent.peer.Tell("entered", agent.target(peer.Obj{"hook": name})) }
}

func (w *watch) add(made *adk.ChatModelAgentConfig, value any) error {
	switch value := value.(type) {
	case adk.AgentMiddleware:
		made.Middlewares = append(made.Middlewares, w.structMiddleware(value))
		return nil
	case *adk.AgentMiddleware:
		if value != nil {
			return w.add(made, *value)
		}
	case compose.ToolMiddleware:
		tools := &made.ToolsConfig
		tools.ToolCallMiddlewares = append(tools.ToolCallMiddlewares, w.toolMiddleware(value, "ToolCallMiddleware"))
		return nil
	}
	if own.IsNil(value) {
		return own.Wrong("%s returns nil", loaded.Name)
	}
	if w.addHandler(made, value) {
		return nil
	}
	several := reflect.ValueOf(value)
	if several.Kind() != reflect.Slice {
		return own.Wrong("%s returns a %T: %s", loaded.Name, value, instead)
	}
	for at := range several.Len() {
		if err := w.add(made, several.Index(at).Interface()); err != nil {
			return err
		}
	}
	return nil
}

func (w *watch) structMiddleware(made adk.AgentMiddleware) adk.AgentMiddleware {
	name := fmt.Sprintf("middlewares[%d]", w.structs)
	w.structs++
	if made.AdditionalInstruction != "" {
		w.counter(name + ".AdditionalInstruction")()
	}
	if len(made.AdditionalTools) > 0 {
		w.counter(name + ".AdditionalTools")()
		made.AdditionalTools = w.observed(made.AdditionalTools)
	}
	made.BeforeChatModel = w.structHook(name, "BeforeChatModel", "before_chat_model", made.BeforeChatModel)
	made.AfterChatModel = w.structHook(name, "AfterChatModel", "after_chat_model", made.AfterChatModel)
	made.WrapToolCall = w.toolMiddleware(made.WrapToolCall, name+".WrapToolCall")
	return made
}

type structHook = func(context.Context, *adk.ChatModelAgentState) error

func (w *watch) structHook(of, field, hook string, own structHook) structHook {
	if own == nil {
		return nil
	}
	enter := w.counter(of + "." + field)
	return func(ctx context.Context, state *adk.ChatModelAgentState) error {
		enter()
		return w.blame(own(ctx, state), peer.Obj{"hook": hook, "of": of})
	}
}

// toolMiddleware counts the calls of what a pair of factories makes. Kinds that a version
// has beside these two are left as they are.
func (w *watch) toolMiddleware(made compose.ToolMiddleware, name string) compose.ToolMiddleware {
	place := func(in *compose.ToolInput) peer.Obj {
		return peer.Obj{"hook": "wrap_tool_call", "of": name, "tool": in.Name, "call_id": in.CallID}
	}
	if own := made.Invokable; own != nil {
		enter := w.counter(name + ".Invokable")
		made.Invokable = func(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
			call := own(next)
			return func(ctx context.Context, in *compose.ToolInput) (*compose.ToolOutput, error) {
				enter()
				out, err := call(ctx, in)
				return out, w.blame(err, place(in))
			}
		}
	}
	if own := made.Streamable; own != nil {
		enter := w.counter(name + ".Streamable")
		made.Streamable = func(next compose.StreamableToolEndpoint) compose.StreamableToolEndpoint {
			call := own(next)
			return func(ctx context.Context, in *compose.ToolInput) (*compose.StreamToolOutput, error) {
				enter()
				out, err := call(ctx, in)
				return out, w.blame(err, place(in))
			}
		}
	}
	return made
}

// blame notes where an error of the user's code arose; the first note counts. The error
// itself stays what it is, since code further out may compare it.
func (w *watch) blame(err error, place peer.Obj) error {
	if err != nil {
		w.agent.blame(err, place)
	}
	return err
}
