package eino

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"driver/peer"
)

// config is an agent as the harness describes it: which parts there are, and no more.
type config struct {
	Name          string          `json:"name"`
	Description   string          `json:"description"`
	Instruction   string          `json:"instruction"`
	Tools         []toolSpec      `json:"tools"`
	Direct        map[string]bool `json:"return_directly"`
	ToolWraps     []toolWraps     `json:"tool_call_middlewares"`
	Structs       []structSpec    `json:"structs"`
	Handlers      [][]string      `json:"handlers"`
	UnknownTools  bool            `json:"unknown_tools_handler"`
	Sequential    bool            `json:"sequential"`
	MaxIterations int             `json:"max_iterations"`
	Subject       bool            `json:"subject"` // that of this driver is put in, too
}

type agent struct {
	peer   *peer.Peer
	number int64
	refs   *peer.Refs
	made   adk.Agent
	gone   atomic.Bool // after which the harness knows it no more: eino leaves streams to the collector

	mu      sync.Mutex
	cancels map[int64]context.CancelFunc
	blamed  map[error]any               // where errors of a subject arose, while a run goes on
	told    map[*schema.Message]message // what the harness knows of messages
}

func newAgent(p *peer.Peer, number int64) *agent {
	return &agent{peer: p, number: number, refs: peer.NewRefs(), cancels: map[int64]context.CancelFunc{},
		blamed: map[error]any{}, told: map[*schema.Message]message{}}
}

// target adds to the parameters of a call whose it is.
func (a *agent) target(params peer.Obj) peer.Obj {
	params["agent"] = a.number
	return params
}

func get[T any](a *agent, number int64) (T, error) { return peer.Get[T](a.refs, number) }

func (a *agent) build(c config) (has any, err error) {
	made := &adk.ChatModelAgentConfig{
		Name:          or(c.Name, "agent"),
		Description:   or(c.Description, "an agent"),
		Instruction:   c.Instruction,
		Model:         &harnessModel{agent: a},
		MaxIterations: c.MaxIterations,
	}
	tools := &made.ToolsConfig
	tools.Tools = a.tools(c.Tools)
	tools.ReturnDirectly = c.Direct
	tools.ExecuteSequentially = c.Sequential
	if c.UnknownTools {
		tools.UnknownToolsHandler = a.unknownTool
	}
	tools.ToolCallMiddlewares = append(tools.ToolCallMiddlewares, noting)
	for _, each := range c.ToolWraps {
		tools.ToolCallMiddlewares = append(tools.ToolCallMiddlewares, a.toolMiddleware(each))
	}
	for at, each := range c.Structs {
		made.Middlewares = append(made.Middlewares, a.structMiddleware(at, each))
	}
	if c.Subject {
		if has, err = a.addSubject(made); err != nil {
			return nil, err
		}
	}
	a.addHandlers(made, c.Handlers)
	agent, err := adk.NewChatModelAgent(context.Background(), made)
	a.made = agent
	return has, err
}

// blame notes where an error of a subject arose; the first note of a run counts.
func (a *agent) blame(err error, place any) {
	if !reflect.TypeOf(err).Comparable() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, known := a.blamed[err]; !known && a.placeOf(err) == nil {
		a.blamed[err] = place
	}
}

// placed returns an error with where it arose, if it is a subject's.
func (a *agent) placed(err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if place := a.placeOf(err); place != nil {
		return peer.Placed(err, place)
	}
	return err
}

func (a *agent) placeOf(err error) any {
	for ; err != nil; err = errors.Unwrap(err) {
		if reflect.TypeOf(err).Comparable() && a.blamed[err] != nil {
			return a.blamed[err]
		}
	}
	return nil
}

// or returns what eino asks for where the harness leaves it out.
func or(text, instead string) string {
	if text == "" {
		return instead
	}
	return text
}

func (a *agent) unknownTool(ctx context.Context, name, arguments string) (string, error) {
	var got struct {
		Result string `json:"result"`
	}
	asked := a.target(peer.Obj{"name": name, "arguments": arguments, "ctx": ctxOf(ctx),
		"call_id": compose.GetToolCallID(ctx)})
	err := a.peer.CallBeside("unknown_tool", asked, &got)
	return got.Result, err
}

// The context of the harness is a number inside that of the engine.
type ctxKey struct{}

func withCtx(ctx context.Context, number int64) context.Context {
	if ctxOf(ctx) == number {
		return ctx
	}
	return context.WithValue(ctx, ctxKey{}, number)
}

func ctxOf(ctx context.Context) int64 {
	number, _ := ctx.Value(ctxKey{}).(int64)
	return number
}

// nextParams is the harness going on into what a wrapper stands around.
type nextParams struct {
	Agent     int64     `json:"agent"`
	Token     int64     `json:"token"`
	Ctx       int64     `json:"ctx"`
	Name      string    `json:"name"`
	Arguments string    `json:"arguments"`
	CallID    string    `json:"call_id"`
	Same      bool      `json:"same"` // the very object that the wrapper was given
	Messages  []message `json:"messages"`
	Tools     *[]string `json:"tools"` // if they are others than the wrapper was given
}

type inner func(nextParams) (any, error)

type streamed struct {
	Stream int64 `json:"stream"`
}

// asking is a way to call the harness: alone, or beside others.
type asking func(method string, params any, into any) error

// around calls a hook of the harness that wraps something.
func (a *agent) around(ask asking, method string, params peer.Obj, on inner, into any) error {
	token := a.refs.Put(on)
	defer a.refs.Drop(token)
	params["token"] = token
	return ask(method, a.target(params), into)
}

func kindOf(err error) string {
	if kind := kindOfSubject(err); kind != "" {
		return kind
	}
	text := err.Error()
	switch {
	case errors.Is(err, adk.ErrExceedMaxIterations):
		return "max_iterations"
	case strings.Contains(text, "not found in toolsNode indexes"):
		return "unknown_tool"
	case strings.Contains(text, "no messages left in state"),
		strings.Contains(text, "panic in post handler: runtime error: index out of range [-1]"):
		return "no_messages_left"
	case strings.Contains(text, "panic in pre handler"),
		strings.Contains(text, "no tool call found in input message"),
		strings.Contains(text, "expected message role is Assistant"):
		return "routing"
	}
	return ""
}
