// Package memory sends the model the newest messages only.
package memory

import (
	"context"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
)

const most = 4

// Subject returns the extensions of one agent.
func Subject() adk.AgentMiddleware {
	return adk.AgentMiddleware{
		BeforeChatModel: func(_ context.Context, state *adk.ChatModelAgentState) error {
			state.Messages = newest(state.Messages)
			return nil
		},
	}
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
