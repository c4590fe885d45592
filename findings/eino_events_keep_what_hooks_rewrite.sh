#!/usr/bin/env bash
# eino 0.9.13 (Go, adk.ChatModelAgent): what AfterModelRewriteState makes of an answer is in
# the agent's state, but not in the events. The consumer's event is sent before the hook, and
# holds the text of the model. So a hook that masks hides the text from the agent's own next
# step and from AfterAgent, and shows it to the person; and a history that is made of the
# events tells the model the unmasked text in the next run. Streaming or not is the same.
#
# Seen: the answer in the state at the end, and in the event, without and with streaming.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
cat >"$WORK/main.go" <<'GO'
package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

type scripted struct{}

func (scripted) Generate(context.Context, []*schema.Message, ...model.Option) (*schema.Message, error) {
	return schema.AssistantMessage("pin 1234", nil), nil
}

func (s scripted) Stream(ctx context.Context, input []*schema.Message, options ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	answer, err := s.Generate(ctx, input, options...)
	return schema.StreamReaderFromArray([]*schema.Message{answer}), err
}

func (s scripted) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return s, nil }

type masks struct {
	adk.BaseChatModelAgentMiddleware
	end string
}

func (m *masks) AfterModelRewriteState(ctx context.Context, state *adk.ChatModelAgentState, _ *adk.ModelContext) (context.Context, *adk.ChatModelAgentState, error) {
	next := *state
	next.Messages = slices.Clone(state.Messages)
	next.Messages[len(next.Messages)-1] = schema.AssistantMessage("pin ****", nil)
	return ctx, &next, nil
}

func (m *masks) AfterAgent(ctx context.Context, state *adk.ChatModelAgentState) (context.Context, error) {
	m.end = state.Messages[len(state.Messages)-1].Content
	return ctx, nil
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	ctx := context.Background()
	for _, streaming := range []bool{false, true} {
		mask := &masks{}
		agent := must(adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
			Name: "a", Description: "a", Model: scripted{},
			Handlers: []adk.ChatModelAgentMiddleware{mask},
		}))
		runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, EnableStreaming: streaming})
		events := runner.Run(ctx, []*schema.Message{schema.UserMessage("hi")})
		var told string
		for event, ok := events.Next(); ok; event, ok = events.Next() {
			told += must(event.Output.MessageOutput.GetMessage()).Content
		}
		fmt.Printf("state %q, event %q\n", mask.end, told)
	}
}
GO
cd "$WORK"
go mod init shows 2>/dev/null
go get github.com/cloudwego/eino/{adk,schema,components/model}@v0.9.13 2>/dev/null
SEEN=$(go run .)
echo "$SEEN"
test "$SEEN" = 'state "pin ****", event "pin 1234"
state "pin ****", event "pin 1234"'
