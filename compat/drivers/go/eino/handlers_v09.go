//go:build v09

package eino

import (
	"context"

	"github.com/cloudwego/eino/adk"
)

const profileName = "eino-0.9"

var capabilities = append(ofHandlers, "after_agent")

type handler09 struct{ handler }

func newHandler(h handler) adk.ChatModelAgentMiddleware { return &handler09{h} }

func (h *handler09) AfterAgent(ctx context.Context, state *adk.ChatModelAgentState) (context.Context, error) {
	if !h.has["after_agent"] {
		return ctx, nil
	}
	return h.rewrite(ctx, "after_agent", state)
}
