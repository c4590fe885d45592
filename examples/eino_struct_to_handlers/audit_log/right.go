// Package audit writes down which tools are called, and with what.
package audit

import (
	"context"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"refengine/world"
)

type auditLog struct {
	*adk.BaseChatModelAgentMiddleware
}

// Subject returns the extensions of one agent.
func Subject() adk.ChatModelAgentMiddleware {
	return auditLog{&adk.BaseChatModelAgentMiddleware{}}
}

func (a auditLog) WrapInvokableToolCall(_ context.Context, next adk.InvokableToolCallEndpoint, call *adk.ToolContext) (adk.InvokableToolCallEndpoint, error) {
	return func(ctx context.Context, arguments string, options ...tool.Option) (string, error) {
		note(ctx, call.Name, arguments)
		return next(ctx, arguments, options...)
	}, nil
}

func (a auditLog) WrapStreamableToolCall(_ context.Context, next adk.StreamableToolCallEndpoint, call *adk.ToolContext) (adk.StreamableToolCallEndpoint, error) {
	return func(ctx context.Context, arguments string, options ...tool.Option) (*schema.StreamReader[string], error) {
		note(ctx, call.Name, arguments)
		return next(ctx, arguments, options...)
	}, nil
}

func note(ctx context.Context, name, arguments string) {
	world.Effect(ctx, "audit", map[string]any{"tool": name, "arguments": arguments})
}
