package adk

import (
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/adk/tool"
	"google.golang.org/adk/tool/agenttool"
	"google.golang.org/adk/tool/functiontool"

	"driver/peer"
)

// toolSpec is a tool by its number, or an agent that is called as one.
type toolSpec struct {
	Tool              int64           `json:"tool"`
	Name              string          `json:"name"`
	Description       string          `json:"description"`
	Parameters        json.RawMessage `json:"parameters"`
	LongRunning       bool            `json:"long_running"`
	NeedsConfirmation bool            `json:"needs_confirmation"`
	Agent             *agentSpec      `json:"agent"`
	SkipSummarization bool            `json:"skip_summarization"`
}

func (w *world) tool(spec toolSpec) (tool.Tool, error) {
	if spec.Agent != nil {
		inner, err := w.agent(*spec.Agent)
		if err != nil {
			return nil, err
		}
		return agenttool.New(inner, &agenttool.Config{SkipSummarization: spec.SkipSummarization}), nil
	}
	made := functiontool.Config{
		Name: spec.Name, Description: spec.Description, IsLongRunning: spec.LongRunning,
		RequireConfirmation: spec.NeedsConfirmation,
	}
	if len(spec.Parameters) > 0 {
		made.InputSchema = &jsonschema.Schema{}
		if err := json.Unmarshal(spec.Parameters, made.InputSchema); err != nil {
			return nil, err
		}
	}
	return functiontool.New(made, w.called(spec.Tool))
}

// called has the harness run a tool.
func (w *world) called(number int64) functiontool.Func[map[string]any, any] {
	return func(ctx tool.Context, args map[string]any) (any, error) {
		held := w.refs.Put(&subject{ctx: ctx, tool: ctx})
		defer w.refs.Drop(held)
		given := peer.Obj{
			"agent": w.number, "tool": number, "ctx": held, "agent_name": ctx.AgentName(),
			"call_id": ctx.FunctionCallID(), "args": args,
			"confirmation": tellConfirmation(ctx.ToolConfirmation()),
		}
		var left struct {
			Result any `json:"result"`
		}
		err := w.peer.Call("tool", given, &left)
		return left.Result, err
	}
}
