// A driver: an agent loop that a harness plays by JSON-RPC.
//
// Put your engine in the place of loop. Model, tools and hooks are the harness's: ask for
// each by call, and tell what happens by send. docs/protocol.md of refengine has every
// frame; "refengine driver check" looks at each function.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

type obj = map[string]any

type toolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type message struct {
	Role    string         `json:"role,omitempty"`
	Content string         `json:"content"`
	Calls   []toolCall     `json:"tool_calls,omitempty"`
	CallID  *string        `json:"tool_call_id,omitempty"`
	Name    string         `json:"name,omitempty"`
	ID      string         `json:"id,omitempty"`
	Extra   map[string]any `json:"extra,omitempty"`
}

type tool struct {
	Tool        int    `json:"tool,omitempty"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

type config struct {
	Name          string          `json:"name"`
	Instruction   string          `json:"instruction"`
	Tools         []tool          `json:"tools"`
	Handlers      [][]string      `json:"handlers"`
	Direct        map[string]bool `json:"return_directly"`
	MaxIterations int             `json:"max_iterations"`
}

var capabilities = []string{"before_model", "wrap_tool", "parallel_calls", "equal_call_ids",
	"several_handlers", "context", "arguments_text", "lone_surrogates", "next_twice",
	"return_directly"}

// failed is an exception of the harness, which keeps its number, or one of this engine.
type failed struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    obj    `json:"data"`
}

func (f *failed) Error() string { return f.Message }

func told(err error) *failed {
	var known *failed
	if errors.As(err, &known) {
		return known
	}
	return &failed{-32000, err.Error(), obj{}}
}

// This end of the connection: each side may call while it is being called.

var (
	in    = bufio.NewReaderSize(os.Stdin, 1<<16)
	last  int
	inner = map[int]func(next) (any, error){}
)

type frame struct {
	ID     *int            `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *failed         `json:"error"`
}

func send(frame obj) {
	frame["jsonrpc"] = "2.0"
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(frame); err != nil {
		stop(err)
	}
}

// hear returns the next frame; at the end of the input there is nobody to play for.
func hear() (got frame) {
	line, err := in.ReadBytes('\n')
	if err == io.EOF {
		os.Exit(0)
	}
	if err == nil {
		err = json.Unmarshal(line, &got)
	}
	if err != nil {
		stop(err)
	}
	return got
}

func stop(err error) {
	fmt.Fprintln(os.Stderr, "driver:", err)
	os.Exit(1)
}

// call asks the harness, and answers what it asks meanwhile.
func call(method string, params obj, into any) error {
	last++
	send(obj{"id": last, "method": method, "params": params})
	for {
		got := hear()
		switch {
		case got.Method != "":
			answer(got)
		case got.Error != nil:
			return got.Error
		default:
			return json.Unmarshal(got.Result, into)
		}
	}
}

// next is the harness going on into what a wrapper stands around.
type next struct {
	Token     int    `json:"token"`
	Ctx       int    `json:"ctx"`
	Arguments string `json:"arguments"`
}

// around asks for a wrapper; by its token it goes on into what it stands around.
func around(params obj, on func(next) (any, error), into any) error {
	last++
	token := last
	inner[token] = on
	defer delete(inner, token)
	params["token"] = token
	return call("hook", params, into)
}

func answer(asked frame) {
	result, err := answered(asked)
	if asked.ID == nil {
		return
	}
	if err != nil {
		send(obj{"id": *asked.ID, "error": told(err)})
		return
	}
	if result == nil {
		result = obj{}
	}
	send(obj{"id": *asked.ID, "result": result})
}

// target is what the calls that this driver answers name.
type target struct {
	Agent    int       `json:"agent"`
	Run      int       `json:"run"`
	Ctx      int       `json:"ctx"`
	Config   config    `json:"config"`
	Messages []message `json:"messages"`
}

func answered(asked frame) (any, error) {
	var given target
	var going next
	if err := errors.Join(json.Unmarshal(asked.Params, &given), json.Unmarshal(asked.Params, &going)); err != nil {
		return nil, err
	}
	switch asked.Method {
	case "initialize":
		return obj{"protocol": 2, "engine": "mine", "version": "0.1", "language": "go",
			"dialect": "react", "profile": "seed-001", "capabilities": capabilities}, nil
	case "build":
		agents[given.Agent] = given.Config
	case "run":
		run(given)
	case "next":
		return inner[going.Token](going)
	case "reset":
		delete(agents, given.Agent)
	case "cancel", "settle", "shutdown": // it cannot stop early, and does nothing by itself
	default:
		return nil, &failed{-32601, "there is no method " + asked.Method, obj{}}
	}
	return nil, nil
}

// The engine

var agents = map[int]config{}

// run plays a run: this is where your engine goes.
func run(asked target) {
	tell := func(more obj) {
		more["agent"], more["run"], more["name"] = asked.Agent, asked.Run, agents[asked.Agent].Name
		send(obj{"method": "event", "params": more})
	}
	err := loop(agents[asked.Agent], asked, func(m message) {
		tell(obj{"role": m.Role, "message": m})
	})
	if err != nil {
		tell(obj{"error": told(err)})
	}
}

// loop tells every answer of the model, and every result of a tool.
func loop(c config, asked target, tell func(message)) error {
	history, ctx := asked.Messages, asked.Ctx
	if c.Instruction != "" {
		history = append([]message{{Role: "system", Content: c.Instruction}}, history...)
	}
	tools := map[string]tool{}
	infos := []tool{}
	for _, each := range c.Tools {
		tools[each.Name] = each
		infos = append(infos, tool{Name: each.Name, Description: each.Description})
	}
	for range c.MaxIterations {
		var err error
		if ctx, history, err = beforeModel(c, asked.Agent, ctx, history); err != nil {
			return err
		}
		var response message
		err = call("model", obj{"agent": asked.Agent, "mode": "invoke", "ctx": ctx,
			"messages": history, "tools": infos}, &response)
		if err != nil {
			return err
		}
		history = append(history, response)
		tell(response)
		if len(response.Calls) == 0 {
			return nil
		}
		for _, each := range response.Calls {
			if _, known := tools[each.Name]; !known {
				return &failed{-32000, "tool " + each.Name + " not found", obj{"kind": "unknown_tool"}}
			}
		}
		direct := false
		for _, each := range response.Calls {
			result, err := called(c, asked.Agent, tools[each.Name], each, ctx)
			if err != nil {
				return err
			}
			history = append(history, message{Role: "tool", Content: result, Name: each.Name, CallID: &each.ID})
			tell(history[len(history)-1])
			direct = direct || c.Direct[each.Name]
		}
		if direct {
			return nil
		}
	}
	return &failed{-32000, "too many iterations", obj{"kind": "max_iterations"}}
}

func beforeModel(c config, agent, ctx int, history []message) (int, []message, error) {
	const hook = "before_model_rewrite_history"
	for at, hooks := range c.Handlers {
		if !slices.Contains(hooks, hook) {
			continue
		}
		var got struct {
			Ctx      int       `json:"ctx"`
			Messages []message `json:"messages"`
		}
		err := call("hook", obj{"agent": agent, "handler": at, "hook": hook, "ctx": ctx,
			"messages": history}, &got)
		if err != nil {
			return ctx, history, err
		}
		ctx, history = got.Ctx, got.Messages
	}
	return ctx, history, nil
}

// called calls a tool through all wrappers, the first of them outermost.
func called(c config, agent int, t tool, asked toolCall, ctx int) (string, error) {
	const hook = "wrap_invokable_tool_call"
	var wraps []int
	for at, hooks := range c.Handlers {
		if slices.Contains(hooks, hook) {
			wraps = append(wraps, at)
		}
	}
	var inside func(depth, ctx int, arguments string) (obj, error)
	inside = func(depth, ctx int, arguments string) (got obj, err error) {
		given := obj{"agent": agent, "ctx": ctx, "arguments": arguments, "call_id": asked.ID}
		if depth == len(wraps) {
			given["tool"], given["mode"] = t.Tool, "invoke"
			return got, call("tool", given, &got)
		}
		given["handler"], given["hook"], given["name"] = wraps[depth], hook, asked.Name
		return got, around(given, func(n next) (any, error) {
			return inside(depth+1, n.Ctx, n.Arguments)
		}, &got)
	}
	got, err := inside(0, ctx, asked.Arguments)
	if err != nil {
		return "", err
	}
	result, _ := got["result"].(string)
	return result, nil
}

func main() {
	for {
		asked := hear()
		answer(asked)
		if asked.Method == "shutdown" {
			return
		}
	}
}
