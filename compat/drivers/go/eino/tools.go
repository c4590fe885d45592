package eino

import (
	"context"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"driver/peer"
)

// toolSpec is a tool of the harness: what the model is told of it, and a number.
type toolSpec struct {
	Tool        int64  `json:"tool,omitempty"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Kind        string `json:"kind,omitempty"`
	Parameters  any    `json:"parameters,omitempty"`
}

type toolBase struct {
	agent *agent
	spec  toolSpec
}

func (t *toolBase) Info(context.Context) (*schema.ToolInfo, error) {
	said := map[string]any{numberKey: t.spec.Tool}
	return &schema.ToolInfo{Name: t.spec.Name, Desc: t.spec.Description, Extra: said}, nil
}

func (t *toolBase) invoke(ctx context.Context, arguments string) (string, error) {
	var got struct {
		Result string `json:"result"`
	}
	err := t.agent.peer.CallBeside("tool", t.params("invoke", ctx, arguments), &got)
	return got.Result, err
}

func (t *toolBase) stream(ctx context.Context, arguments string) (*schema.StreamReader[string], error) {
	var got streamed
	if err := t.agent.peer.CallBeside("tool", t.params("stream", ctx, arguments), &got); err != nil {
		return nil, err
	}
	return pulled(t.agent, got.Stream, readText), nil
}

func (t *toolBase) params(mode string, ctx context.Context, arguments string) peer.Obj {
	return t.agent.target(peer.Obj{"tool": t.spec.Tool, "mode": mode, "ctx": ctxOf(ctx),
		"arguments": arguments, "call_id": compose.GetToolCallID(ctx)})
}

// eino looks at the methods that a tool has, so each kind is a type.
type (
	invokableTool  struct{ toolBase }
	streamableTool struct{ toolBase }
	bothTool       struct{ toolBase }
)

func (t *invokableTool) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (string, error) {
	return t.invoke(ctx, arguments)
}

func (t *bothTool) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (string, error) {
	return t.invoke(ctx, arguments)
}

func (t *streamableTool) StreamableRun(ctx context.Context, arguments string, _ ...tool.Option) (*schema.StreamReader[string], error) {
	return t.stream(ctx, arguments)
}

func (t *bothTool) StreamableRun(ctx context.Context, arguments string, _ ...tool.Option) (*schema.StreamReader[string], error) {
	return t.stream(ctx, arguments)
}

func (a *agent) tool(spec toolSpec) tool.BaseTool {
	base := toolBase{a, spec}
	switch spec.Kind {
	case "streamable":
		return &streamableTool{base}
	case "both":
		return &bothTool{base}
	}
	return &invokableTool{base}
}

func (a *agent) tools(specs []toolSpec) []tool.BaseTool {
	var tools []tool.BaseTool
	for _, each := range specs {
		tools = append(tools, a.tool(each))
	}
	return tools
}

// specOf tells the harness of a tool that the engine shows to a hook.
func specOf(ctx context.Context, t tool.BaseTool) (toolSpec, error) {
	switch t := t.(type) {
	case *invokableTool:
		return t.spec, nil
	case *streamableTool:
		return t.spec, nil
	case *bothTool:
		return t.spec, nil
	}
	info, err := t.Info(ctx)
	if err != nil {
		return toolSpec{}, err
	}
	return ownSpec(info), nil
}

// ownSpec tells of a tool of the subject's own, also what its arguments have to be.
func ownSpec(info *schema.ToolInfo) toolSpec {
	spec := toolSpec{Name: info.Name, Description: info.Desc}
	if info.ParamsOneOf != nil {
		if parameters, err := info.ParamsOneOf.ToJSONSchema(); err == nil {
			spec.Parameters = parameters
		}
	}
	return spec
}

// numberKey is where an info says which tool of the harness it is of: names may be equal.
const numberKey = "refengine"

func infosOf(infos []*schema.ToolInfo) []toolSpec {
	specs := make([]toolSpec, 0, len(infos))
	for _, each := range infos {
		number, _ := each.Extra[numberKey].(int64)
		spec := ownSpec(each)
		spec.Tool = number
		specs = append(specs, spec)
	}
	return specs
}
