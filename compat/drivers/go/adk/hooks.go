package adk

import (
	"google.golang.org/adk/agent"
	"google.golang.org/adk/agent/llmagent"
	"google.golang.org/adk/model"
	"google.golang.org/adk/session"
	"google.golang.org/adk/tool"
	"google.golang.org/genai"

	"driver/peer"
)

// entered is the call of a hook: which one, by the harness's number, and what it is given.
// What a hook of a whole run is given has no context.
type entered struct {
	World        int64          `json:"agent"`
	Hook         string         `json:"hook"`
	Extension    int64          `json:"extension"`
	Ctx          int64          `json:"ctx,omitempty"`
	AgentName    string         `json:"agent_name,omitempty"`
	CallID       string         `json:"call_id,omitempty"`
	Confirmation *confirmation  `json:"confirmation,omitempty"`
	Content      *content       `json:"content,omitempty"`
	Event        *event         `json:"event,omitempty"`
	Request      *request       `json:"request,omitempty"`
	Response     *answer        `json:"response,omitempty"`
	Tool         string         `json:"tool,omitempty"`
	Args         map[string]any `json:"args,omitempty"`
	Result       map[string]any `json:"result,omitempty"`
	HasResult    bool           `json:"has_result,omitempty"`
	Error        *peer.Failure  `json:"error,omitempty"`
}

func failureOf(err error) *peer.Failure {
	if err == nil {
		return nil
	}
	return peer.FailureOf(err, kindOf(err))
}

// enter calls a hook, and reads what it gives. While it is called, its context has a number.
func enter[V any](w *world, given entered, subject *subject) (value V, err error) {
	given.World = w.number
	if subject != nil {
		given.Ctx = w.refs.Put(subject)
		given.AgentName = subject.ctx.AgentName()
		defer w.refs.Drop(given.Ctx)
		if subject.tool != nil {
			given.CallID = subject.tool.FunctionCallID()
			given.Confirmation = tellConfirmation(subject.tool.ToolConfirmation())
		}
	}
	var left struct {
		Value V `json:"value"`
	}
	err = w.peer.Call("hook", given, &left)
	return left.Value, err
}

func (w *world) agentHook(hook string, number int64) func(agent.CallbackContext) (*genai.Content, error) {
	return func(ctx agent.CallbackContext) (*genai.Content, error) {
		given := entered{Hook: hook, Extension: number}
		value, err := enter[*content](w, given, &subject{ctx: ctx})
		return value.read(), err
	}
}

func (w *world) beforeModel(number int64) llmagent.BeforeModelCallback {
	return func(ctx agent.CallbackContext, asked *model.LLMRequest) (*model.LLMResponse, error) {
		told := tellRequest(asked)
		given := entered{Hook: "before_model", Extension: number, Request: &told}
		value, err := enter[*answer](w, given, &subject{ctx: ctx, request: asked})
		return value.read(), err
	}
}

func (w *world) onModelError(number int64) llmagent.OnModelErrorCallback {
	return func(ctx agent.CallbackContext, asked *model.LLMRequest, raised error) (*model.LLMResponse, error) {
		told := tellRequest(asked)
		given := entered{
			Hook: "on_model_error", Extension: number, Request: &told, Error: failureOf(raised),
		}
		value, err := enter[*answer](w, given, &subject{ctx: ctx, request: asked})
		return value.read(), err
	}
}

func (w *world) afterModel(number int64) llmagent.AfterModelCallback {
	return func(ctx agent.CallbackContext, said *model.LLMResponse, raised error) (*model.LLMResponse, error) {
		told := tellAnswer(said)
		given := entered{
			Hook: "after_model", Extension: number, Response: &told, Error: failureOf(raised),
		}
		value, err := enter[*answer](w, given, &subject{ctx: ctx, response: said})
		return value.read(), err
	}
}

func (w *world) beforeTool(number int64) llmagent.BeforeToolCallback {
	return func(ctx tool.Context, t tool.Tool, args map[string]any) (map[string]any, error) {
		given := entered{Hook: "before_tool", Extension: number, Tool: t.Name(), Args: args}
		return enter[map[string]any](w, given, &subject{ctx: ctx, tool: ctx, args: args})
	}
}

func (w *world) afterTool(number int64) llmagent.AfterToolCallback {
	return func(ctx tool.Context, t tool.Tool, args, result map[string]any, raised error) (map[string]any, error) {
		given := entered{
			Hook: "after_tool", Extension: number, Tool: t.Name(), Args: args, Result: result,
			HasResult: result != nil, Error: failureOf(raised),
		}
		held := &subject{ctx: ctx, tool: ctx, args: args, result: result}
		return enter[map[string]any](w, given, held)
	}
}

func (w *world) onToolError(number int64) llmagent.OnToolErrorCallback {
	return func(ctx tool.Context, t tool.Tool, args map[string]any, raised error) (map[string]any, error) {
		given := entered{
			Hook: "on_tool_error", Extension: number, Tool: t.Name(), Args: args,
			Error: failureOf(raised),
		}
		return enter[map[string]any](w, given, &subject{ctx: ctx, tool: ctx, args: args})
	}
}

func (w *world) onUserMessage(number int64) func(agent.InvocationContext, *genai.Content) (*genai.Content, error) {
	return func(_ agent.InvocationContext, said *genai.Content) (*genai.Content, error) {
		given := entered{Hook: "on_user_message", Extension: number, Content: tellContent(said)}
		value, err := enter[*content](w, given, nil)
		return value.read(), err
	}
}

func (w *world) beforeRun(number int64) func(agent.InvocationContext) (*genai.Content, error) {
	return func(agent.InvocationContext) (*genai.Content, error) {
		value, err := enter[*content](w, entered{Hook: "before_run", Extension: number}, nil)
		return value.read(), err
	}
}

// afterRun has nowhere to put an error.
func (w *world) afterRun(number int64) func(agent.InvocationContext) {
	return func(agent.InvocationContext) {
		enter[any](w, entered{Hook: "after_run", Extension: number}, nil)
	}
}

// onEvent replaces the content of an event: what the harness gives is that event with another.
func (w *world) onEvent(number int64) func(agent.InvocationContext, *session.Event) (*session.Event, error) {
	return func(_ agent.InvocationContext, told *session.Event) (*session.Event, error) {
		said := tellEvent(told)
		given := entered{Hook: "on_event", Extension: number, Event: &said}
		value, err := enter[*event](w, given, nil)
		if value == nil || err != nil {
			return nil, err
		}
		changed := *told
		changed.Content = value.Content.read()
		return &changed, nil
	}
}
