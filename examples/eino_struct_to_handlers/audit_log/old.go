// Package audit writes down which tools are called, and with what.
package audit

import (
	"context"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"
	"refengine/world"
)

// Subject returns the extensions of one agent.
func Subject() adk.AgentMiddleware {
	return adk.AgentMiddleware{
		WrapToolCall: compose.ToolMiddleware{Invokable: invokable, Streamable: streamable},
	}
}

func invokable(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
	return func(ctx context.Context, call *compose.ToolInput) (*compose.ToolOutput, error) {
		note(ctx, call.Name, call.Arguments)
		return next(ctx, call)
	}
}

func streamable(next compose.StreamableToolEndpoint) compose.StreamableToolEndpoint {
	return func(ctx context.Context, call *compose.ToolInput) (*compose.StreamToolOutput, error) {
		note(ctx, call.Name, call.Arguments)
		return next(ctx, call)
	}
}

func note(ctx context.Context, name, arguments string) {
	world.Effect(ctx, "audit", map[string]any{"tool": name, "arguments": arguments})
}
