package adk

import (
	"context"
	"iter"

	"google.golang.org/adk/agent"
	"google.golang.org/adk/session"

	"driver/peer"
)

type runParams struct {
	User    string         `json:"user"`
	Session string         `json:"session"`
	Content *content       `json:"content"`
	Stream  bool           `json:"stream"`
	State   map[string]any `json:"state"`
}

// opened is a run whose consumer takes its events one by one.
type opened struct {
	next func() (*session.Event, error, bool)
	stop func()
}

// run starts a run; nothing of it happens before its first event is pulled.
func (w *world) run(asked runParams) (any, error) {
	mode := agent.StreamingModeNone
	if asked.Stream {
		mode = agent.StreamingModeSSE
	}
	w.sessions.coming = asked.State
	ctx := context.Background()
	events := w.runner.Run(
		ctx, asked.User, asked.Session, asked.Content.read(), agent.RunConfig{StreamingMode: mode},
	)
	next, stop := iter.Pull2(events)
	return peer.Obj{"stream": w.refs.Put(opened{next, stop})}, nil
}

type streamParams struct {
	Stream int64 `json:"stream"`
}

// pulled is what comes of a pull: an event, an error behind which a run may go on, or the end.
type pulled struct {
	Event *event        `json:"event,omitempty"`
	Error *peer.Failure `json:"error,omitempty"`
	End   bool          `json:"end,omitempty"`
}

func (w *world) pull(asked streamParams) (any, error) {
	run, err := peer.Get[opened](w.refs, asked.Stream)
	if err != nil {
		return nil, err
	}
	found, err, more := run.next()
	if !more {
		w.refs.Drop(asked.Stream)
		return pulled{End: true}, nil
	}
	told := pulled{}
	if err != nil { // an event beside an error is not looked at, as everywhere in Go
		told.Error = peer.FailureOf(w.placed(err), kindOf(err))
	} else if found != nil {
		said := tellEvent(found)
		told.Event = &said
	}
	return told, nil
}

// close lets go of a run whose consumer has left; it is answered when the run has ended.
func (w *world) close(asked streamParams) (any, error) {
	run, err := peer.Get[opened](w.refs, asked.Stream)
	if err != nil {
		return nil, err
	}
	w.refs.Drop(asked.Stream)
	run.stop()
	return nil, nil
}
