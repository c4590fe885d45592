// Package memory sends the model the newest messages only.
package memory

import (
	"context"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
)

const most = 5

type shortMemory struct {
	*adk.BaseChatModelAgentMiddleware
}

// Subject returns the extensions of one agent.
func Subject() adk.ChatModelAgentMiddleware {
	return shortMemory{&adk.BaseChatModelAgentMiddleware{}}
}

func (m shortMemory) BeforeModelRewriteState(ctx context.Context, state *adk.ChatModelAgentState, _ *adk.ModelContext) (context.Context, *adk.ChatModelAgentState, error) {
	state.Messages = newest(state.Messages)
	return ctx, state, nil
}

// newest leaves out whole turns: the first message that stays is a person's.
func newest(messages []*schema.Message) []*schema.Message {
	for at := max(0, len(messages)-most); at < len(messages); at++ {
		if messages[at].Role == schema.User {
			return messages[at:]
		}
	}
	return messages
}
