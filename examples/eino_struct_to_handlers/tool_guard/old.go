// Package guard refuses tools that nobody may use.
package guard

import (
	"context"
	"slices"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
)

var refused = []string{"delete_all", "wipe"}

const answer = "this tool may not be used"

// Subject returns the extensions of one agent.
func Subject() adk.AgentMiddleware {
	return adk.AgentMiddleware{
		WrapToolCall: compose.ToolMiddleware{Invokable: invokable, Streamable: streamable},
	}
}

func invokable(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
	return func(ctx context.Context, call *compose.ToolInput) (*compose.ToolOutput, error) {
		if slices.Contains(refused, call.Name) {
			return &compose.ToolOutput{Result: answer}, nil
		}
		return next(ctx, call)
	}
}

func streamable(next compose.StreamableToolEndpoint) compose.StreamableToolEndpoint {
	return func(ctx context.Context, call *compose.ToolInput) (*compose.StreamToolOutput, error) {
		if slices.Contains(refused, call.Name) {
			return &compose.StreamToolOutput{Result: schema.StreamReaderFromArray([]string{answer})}, nil
		}
		return next(ctx, call)
	}
}
