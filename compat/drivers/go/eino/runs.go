package main

import (
	"context"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"driver/peer"
)

type runParams struct {
	Agent    int64     `json:"agent"`
	Run      int64     `json:"run"`
	Messages []message `json:"messages"`
	Stream   bool      `json:"stream"`
	Ctx      int64     `json:"ctx"`
}

// event is what the engine told of a run.
type event struct {
	Agent  int64         `json:"agent"`
	Run    int64         `json:"run"`
	Name   string        `json:"name"`
	Role   string        `json:"role,omitempty"`
	CallID *string       `json:"call_id,omitempty"`
	Answer *message      `json:"message,omitempty"`
	Stream int64         `json:"stream,omitempty"`
	Error  *peer.Failure `json:"error,omitempty"`
}

// run tells each event as the engine does, and answers when there are no more.
func (a *agent) run(asked runParams) (any, error) {
	messages, err := a.readAll(asked.Messages)
	if err != nil {
		return nil, err
	}
	waiting := &answer{}
	ctx := context.WithValue(withCtx(context.Background(), asked.Ctx), answerKey{}, waiting)
	ctx, cancel := context.WithCancel(ctx)
	a.mu.Lock()
	a.cancels[asked.Run] = cancel
	clear(a.blamed)
	a.mu.Unlock()
	defer a.cancel(asked.Run)
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: a.made, EnableStreaming: asked.Stream})
	events := runner.Run(ctx, messages)
	streamed := map[string]bool{} // of the last answer's calls those whose results were told as streams
	for {
		told, more := events.Next()
		if !more {
			return a.answerOf(waiting, streamed), nil
		}
		for _, each := range a.events(told) {
			each.Agent, each.Run = a.number, asked.Run
			if each.Role != string(schema.Tool) {
				clear(streamed)
			} else if each.Stream != 0 && each.CallID != nil {
				streamed[*each.CallID] = true
			}
			a.peer.Tell("event", each)
		}
	}
}

// answerOf returns what a run came to.
func (a *agent) answerOf(waiting *answer, streamed map[string]bool) any {
	got := waiting.read(streamed)
	if got == nil {
		return nil
	}
	return peer.Obj{"answer": contentOf(got)}
}

func (a *agent) cancel(run int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if cancel := a.cancels[run]; cancel != nil {
		cancel()
	}
	delete(a.cancels, run)
}

func (a *agent) events(told *adk.AgentEvent) (events []event) {
	if told.Output != nil && told.Output.MessageOutput != nil {
		events = append(events, a.outputOf(told))
	}
	if told.Err != nil {
		failure := peer.FailureOf(a.placed(told.Err), kindOf(told.Err))
		events = append(events, event{Name: told.AgentName, Error: failure})
	}
	return events
}

func (a *agent) outputOf(told *adk.AgentEvent) event {
	output := told.Output.MessageOutput
	made := event{Name: told.AgentName, Role: string(output.Role)}
	if !output.IsStreaming {
		answer := contentOf(output.Message)
		made.Role, made.CallID, made.Answer = answer.Role, answer.ToolCallID, &answer
		return made
	}
	tell := tellChunk
	reader := output.MessageStream
	if output.Role == schema.Tool {
		tell = tellToolChunk
		made.CallID, reader = callOf(reader)
	}
	made.Stream = offer(a, reader, tell)
	return made
}

func tellToolChunk(m *schema.Message) piece {
	return piece{Text: m.Content, Message: &message{Name: m.ToolName}}
}

// callOf reads the first chunk of a result, which alone says whose it is.
func callOf(reader *schema.StreamReader[*schema.Message]) (*string, *schema.StreamReader[*schema.Message]) {
	copies := reader.Copy(2)
	first, err := copies[0].Recv()
	copies[0].Close()
	if err != nil {
		return nil, copies[1]
	}
	return &first.ToolCallID, copies[1]
}
