// Package trouble tells the model of tools that failed, and lets the run go on.
package trouble

import (
	"context"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
)

type troubleTold struct {
	*adk.BaseChatModelAgentMiddleware
}

// Subject returns the extensions of one agent.
func Subject() adk.ChatModelAgentMiddleware {
	return troubleTold{&adk.BaseChatModelAgentMiddleware{}}
}

func (t troubleTold) WrapInvokableToolCall(_ context.Context, next adk.InvokableToolCallEndpoint, call *adk.ToolContext) (adk.InvokableToolCallEndpoint, error) {
	return func(ctx context.Context, arguments string, options ...tool.Option) (string, error) {
		result, err := next(ctx, arguments, options...)
		if isTrouble(err) {
			result, err = next(ctx, arguments, options...)
		}
		if isTrouble(err) {
			return told(call.Name), nil
		}
		return result, err
	}, nil
}

func (t troubleTold) WrapStreamableToolCall(_ context.Context, next adk.StreamableToolCallEndpoint, call *adk.ToolContext) (adk.StreamableToolCallEndpoint, error) {
	return func(ctx context.Context, arguments string, options ...tool.Option) (*schema.StreamReader[string], error) {
		result, err := next(ctx, arguments, options...)
		if isTrouble(err) {
			return schema.StreamReaderFromArray([]string{told(call.Name)}), nil
		}
		return result, err
	}, nil
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
