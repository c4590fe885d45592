// Package house tells the model the rules of the house.
package house

import (
	"context"

	"github.com/cloudwego/eino/adk"
)

const rules = "Never promise a refund."

type houseRules struct {
	*adk.BaseChatModelAgentMiddleware
}

// Subject returns the extensions of one agent.
func Subject() adk.ChatModelAgentMiddleware {
	return houseRules{&adk.BaseChatModelAgentMiddleware{}}
}

func (h houseRules) BeforeAgent(ctx context.Context, run *adk.ChatModelAgentContext) (context.Context, *adk.ChatModelAgentContext, error) {
	run.Instruction = run.Instruction + "\n" + rules
	return ctx, run, nil
}
