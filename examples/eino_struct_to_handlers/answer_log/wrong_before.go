// Package answers writes down what the model says.
package answers

import (
	"context"

	"github.com/cloudwego/eino/adk"
	"refengine/world"
)

type answerLog struct {
	*adk.BaseChatModelAgentMiddleware
}

// Subject returns the extensions of one agent.
func Subject() adk.ChatModelAgentMiddleware {
	return answerLog{&adk.BaseChatModelAgentMiddleware{}}
}

func (a answerLog) BeforeModelRewriteState(ctx context.Context, state *adk.ChatModelAgentState, _ *adk.ModelContext) (context.Context, *adk.ChatModelAgentState, error) {
	note(ctx, state)
	return ctx, state, nil
}

func note(ctx context.Context, state *adk.ChatModelAgentState) {
	last := state.Messages[len(state.Messages)-1]
	world.Effect(ctx, "answer", map[string]any{"text": last.Content, "calls": len(last.ToolCalls)})
}
