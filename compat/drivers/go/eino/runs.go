package eino

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
	failed := false
	for {
		told, more := events.Next()
		if !more {
			break
		}
		for _, each := range a.events(told) {
			each.Agent, each.Run = a.number, asked.Run
			failed = failed || each.Error != nil
			a.peer.Tell("event", each)
		}
	}
	if failed {
		waiting.stream = nil
	}
	return waiting.told(a), nil
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
	if output.Role == schema.Tool {
		tell = tellToolChunk
	}
	made.Stream = offer(a, output.MessageStream, tell)
	return made
}

// tellToolChunk says with each chunk whose it is: eino's event of such a result does not.
func tellToolChunk(m *schema.Message) piece {
	return piece{Text: m.Content, Message: &message{Name: m.ToolName, ToolCallID: &m.ToolCallID}}
}
