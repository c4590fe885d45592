//go:build subject

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"
	"refengine/world"

	"driver/peer"
)

// A file that is written when a driver is built with users' packages has their functions
// by path and name:
//
//	var subjectConstructors = map[string]any{"subject/p12:NewAudit": own.NewAudit}

// loaded is the one of them that this process was asked to load.
var loaded struct {
	name        string
	constructor any
	frames      *os.File // the output of the process; collected, it would be closed
}

// subjectError is a mistake in what a user's constructor is or returns.
type subjectError struct{ kind, text string }

func (e *subjectError) Error() string { return e.text }

func kindOfSubject(err error) string {
	var known *subjectError
	if errors.As(err, &known) {
		return known.kind
	}
	return ""
}

var (
	contextType = reflect.TypeFor[context.Context]()
	errorType   = reflect.TypeFor[error]()
)

// subject says whether the constructor that was built in can be called.
func (d *driver) subject(params json.RawMessage) (any, error) {
	var asked struct {
		Path string `json:"path"`
		Name string `json:"name"`
	}
	if err := json.Unmarshal(params, &asked); err != nil {
		return nil, err
	}
	if loaded.frames == nil {
		loaded.frames, os.Stdout = os.Stdout, os.Stderr
	}
	found := subjectConstructors[asked.Path+":"+asked.Name]
	if found == nil {
		return nil, &subjectError{"missing-name", "this driver was not built with " + asked.Name}
	}
	loaded.name, loaded.constructor = asked.Name, found
	return peer.Obj{"name": loaded.name}, signature(reflect.TypeOf(found))
}

func signature(made reflect.Type) error {
	wrong := func(why string) error {
		return &subjectError{"wrong-result", fmt.Sprintf("%s is a %s: %s", loaded.name, made, why)}
	}
	if made.Kind() != reflect.Func {
		return &subjectError{"not-callable", fmt.Sprintf("%s is no function", loaded.name)}
	}
	for at := range made.NumIn() {
		isOption := made.IsVariadic() && at == made.NumIn()-1
		if !isOption && made.In(at) != contextType {
			return wrong("write one that takes nothing, or a context.Context")
		}
	}
	if out := made.NumOut(); out == 0 || out > 2 || out == 2 && made.Out(1) != errorType {
		return wrong("it has to return one result, or a result and an error")
	}
	return nil
}

// constructed calls the user's constructor.
func constructed(ctx context.Context) (any, error) {
	call := reflect.ValueOf(loaded.constructor)
	var given []reflect.Value
	for at := range call.Type().NumIn() {
		if !(call.Type().IsVariadic() && at == call.Type().NumIn()-1) {
			given = append(given, reflect.ValueOf(ctx))
		}
	}
	out := call.Call(given)
	if len(out) == 2 && !out[1].IsNil() {
		return nil, out[1].Interface().(error)
	}
	return out[0].Interface(), nil
}

// addSubject puts what the user's constructor returns into a configuration: structs after
// those of the world, handlers before its handlers.
func (a *agent) addSubject(made *adk.ChatModelAgentConfig) (any, error) {
	call := a.worldCall()
	world.Use(call)
	returned, err := constructed(world.With(context.Background(), call))
	if err != nil {
		return nil, err
	}
	own := &watch{agent: a, hooks: []string{}, names: []string{}}
	if err := own.add(made, returned); err != nil {
		return nil, err
	}
	if len(own.hooks) == 0 {
		return nil, &subjectError{"wrong-result", loaded.name + " returns nothing to look at"}
	}
	return peer.Obj{"hooks": own.hooks, "names": own.names}, nil
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
	if value == nil || isNil(value) {
		return &subjectError{"wrong-result", loaded.name + " returns nil"}
	}
	if w.addHandler(made, value) {
		return nil
	}
	several := reflect.ValueOf(value)
	if several.Kind() != reflect.Slice {
		return &subjectError{"wrong-result", fmt.Sprintf("%s returns a %T: %s", loaded.name, value, instead)}
	}
	for at := range several.Len() {
		if err := w.add(made, several.Index(at).Interface()); err != nil {
			return err
		}
	}
	return nil
}

func isNil(value any) bool {
	found := reflect.ValueOf(value)
	switch found.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Func, reflect.Interface:
		return found.IsNil()
	}
	return false
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
