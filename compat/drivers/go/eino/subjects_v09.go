//go:build subject && v09

package eino

import (
	"context"

	"github.com/cloudwego/eino/adk"
)

type watchedHandler09 struct{ watchedHandler }

func newWatched(h watchedHandler) adk.ChatModelAgentMiddleware { return &watchedHandler09{h} }

func (h *watchedHandler09) AfterAgent(ctx context.Context, state *adk.ChatModelAgentState) (context.Context, error) {
	place, _ := h.entered("AfterAgent")
	ctx, err := h.ChatModelAgentMiddleware.AfterAgent(ctx, state)
	return ctx, h.watch.blame(err, place)
}
