// Package answers writes down what the model says.
package answers

import (
	"context"

	"github.com/cloudwego/eino/adk"
	"refengine/world"
)

// Subject returns the extensions of one agent.
func Subject() adk.AgentMiddleware {
	return adk.AgentMiddleware{
		AfterChatModel: func(ctx context.Context, state *adk.ChatModelAgentState) error {
			note(ctx, state)
			return nil
		},
	}
}

func note(ctx context.Context, state *adk.ChatModelAgentState) {
	last := state.Messages[len(state.Messages)-1]
	world.Effect(ctx, "answer", map[string]any{"text": last.Content, "calls": len(last.ToolCalls)})
}
