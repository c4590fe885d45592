#!/usr/bin/env bash
# eino 0.9.13 (Go, adk.ChatModelAgent): the messages in the state of a hook are not copies.
# Those of the history are the very ones that the caller handed to Run, in the first step and
# after it. A hook that edits a message in place, as is natural in Go, edits the caller's
# history, and what it adds is there already, and added again, in the next run.
#
# Seen: what the model is asked in three runs of one history, and the history behind them,
# of a hook that edits in place and of one that puts an edited copy into the state.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
cat >"$WORK/main.go" <<'GO'
package main

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

type scripted struct{ asked *[]string }

func (s scripted) Generate(_ context.Context, input []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	*s.asked = append(*s.asked, input[0].Content)
	return schema.AssistantMessage("ok", nil), nil
}

func (s scripted) Stream(ctx context.Context, input []*schema.Message, options ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	answer, err := s.Generate(ctx, input, options...)
	return schema.StreamReaderFromArray([]*schema.Message{answer}), err
}

func (s scripted) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return s, nil }

type adds struct {
	adk.BaseChatModelAgentMiddleware
	copies bool
}

func (a *adds) BeforeModelRewriteState(ctx context.Context, state *adk.ChatModelAgentState, _ *adk.ModelContext) (context.Context, *adk.ChatModelAgentState, error) {
	message := state.Messages[0]
	if a.copies {
		other := *message
		message = &other
		state.Messages = append([]*schema.Message{message}, state.Messages[1:]...)
	}
	message.Content += "!"
	return ctx, state, nil
}

func main() {
	ctx := context.Background()
	for _, copies := range []bool{false, true} {
		var asked []string
		agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
			Name: "a", Description: "a", Model: scripted{&asked},
			Handlers: []adk.ChatModelAgentMiddleware{&adds{copies: copies}},
		})
		if err != nil {
			panic(err)
		}
		runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent})
		history := []*schema.Message{schema.UserMessage("hi")}
		for range 3 {
			events := runner.Run(ctx, history)
			for _, ok := events.Next(); ok; _, ok = events.Next() {
			}
		}
		fmt.Printf("asked %q, history %q\n", asked, history[0].Content)
	}
}
GO
cd "$WORK"
go mod init shows 2>/dev/null
go get github.com/cloudwego/eino/{adk,schema,components/model}@v0.9.13 2>/dev/null
SEEN=$(go run .)
echo "$SEEN"
test "$SEEN" = 'asked ["hi!" "hi!!" "hi!!!"], history "hi!!!"
asked ["hi!" "hi!" "hi!"], history "hi"'
