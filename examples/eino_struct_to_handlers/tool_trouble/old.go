// Package trouble tells the model of tools that failed, and lets the run go on.
package trouble

import (
	"context"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
)

// Subject returns the extensions of one agent.
func Subject() adk.AgentMiddleware {
	return adk.AgentMiddleware{
		WrapToolCall: compose.ToolMiddleware{Invokable: invokable, Streamable: streamable},
	}
}

func invokable(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
	return func(ctx context.Context, call *compose.ToolInput) (*compose.ToolOutput, error) {
		out, err := next(ctx, call)
		if isTrouble(err) {
			return &compose.ToolOutput{Result: told(call.Name)}, nil
		}
		return out, err
	}
}

func streamable(next compose.StreamableToolEndpoint) compose.StreamableToolEndpoint {
	return func(ctx context.Context, call *compose.ToolInput) (*compose.StreamToolOutput, error) {
		out, err := next(ctx, call)
		if isTrouble(err) {
			return &compose.StreamToolOutput{Result: schema.StreamReaderFromArray([]string{told(call.Name)})}, nil
		}
		return out, err
	}
}

// isTrouble leaves alone what stops a run so that a person can be asked.
func isTrouble(err error) bool {
	if err == nil {
		return false
	}
	_, asks := compose.IsInterruptRerunError(err)
	return !asks
}

func told(name string) string { return name + " is out of order; try another way" }
