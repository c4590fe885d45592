// Package guard refuses tools that nobody may use.
package guard

import (
	"context"
	"slices"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
)

var refused = []string{"delete_all", "wipe"}

const answer = "this tool may not be used"

type toolGuard struct {
	*adk.BaseChatModelAgentMiddleware
}

// Subject returns the extensions of one agent.
func Subject() adk.ChatModelAgentMiddleware {
	return toolGuard{&adk.BaseChatModelAgentMiddleware{}}
}

func (g toolGuard) WrapInvokableToolCall(_ context.Context, next adk.InvokableToolCallEndpoint, call *adk.ToolContext) (adk.InvokableToolCallEndpoint, error) {
	return func(ctx context.Context, arguments string, options ...tool.Option) (string, error) {
		if slices.Index(refused, call.Name) == 0 {
			return answer, nil
		}
		return next(ctx, arguments, options...)
	}, nil
}

func (g toolGuard) WrapStreamableToolCall(_ context.Context, next adk.StreamableToolCallEndpoint, call *adk.ToolContext) (adk.StreamableToolCallEndpoint, error) {
	return func(ctx context.Context, arguments string, options ...tool.Option) (*schema.StreamReader[string], error) {
		if slices.Index(refused, call.Name) == 0 {
			return schema.StreamReaderFromArray([]string{answer}), nil
		}
		return next(ctx, arguments, options...)
	}, nil
}
