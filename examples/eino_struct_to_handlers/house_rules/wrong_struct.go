// Package house tells the model the rules of the house.
package house

import "github.com/cloudwego/eino/adk"

// Subject returns the extensions of one agent.
func Subject() adk.AgentMiddleware {
	return adk.AgentMiddleware{AdditionalInstruction: "Never promise a refund."}
}
