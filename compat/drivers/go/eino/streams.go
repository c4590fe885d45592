package eino

import (
	"io"
	"sync/atomic"

	"github.com/cloudwego/eino/schema"

	"driver/peer"
)

// piece is what one pull of a stream brings: text of a tool, a chunk of an answer, or its end;
// or what a run came to.
type piece struct {
	End     bool      `json:"end,omitempty"`
	Text    string    `json:"text,omitempty"`
	Message *message  `json:"message,omitempty"`
	Results []message `json:"results,omitempty"`
}

// source is a stream of the engine, which the harness pulls.
type source interface {
	pull() (piece, error)
	close()
}

type reading[T any] struct {
	reader *schema.StreamReader[T]
	tell   func(T) piece
}

func (s *reading[T]) pull() (piece, error) {
	chunk, err := s.reader.Recv()
	if err == io.EOF {
		return piece{End: true}, nil
	}
	if err != nil {
		return piece{}, err
	}
	return s.tell(chunk), nil
}

func (s *reading[T]) close() { s.reader.Close() }

// offer numbers a stream for the harness.
func offer[T any](a *agent, reader *schema.StreamReader[T], tell func(T) piece) int64 {
	return a.refs.Put(source(&reading[T]{reader, tell}))
}

func tellText(text string) piece { return piece{Text: text} }

func tellChunk(m *schema.Message) piece {
	told := contentOf(m)
	return piece{Message: &told}
}

func readText(got piece) (string, error) { return got.Text, nil }

func (a *agent) readChunk(got piece) (*schema.Message, error) {
	if got.Message == nil {
		return &schema.Message{Role: schema.Assistant}, nil
	}
	got.Message.Role = string(schema.Assistant)
	return a.read(*got.Message)
}

// pulled is a stream of the harness. It is asked for a chunk when somebody reads one and not
// before: each read takes a tick from a pipe without a buffer, and the conversion asks. Who
// closes the stream has closed the pipe, and the harness is told.
func pulled[T any](a *agent, stream int64, read func(piece) (T, error)) *schema.StreamReader[T] {
	ticks, ticking := schema.Pipe[struct{}](0)
	ticks.SetAutomaticClose()
	var over atomic.Bool
	asked := a.target(peer.Obj{"stream": stream})
	go func() {
		for !ticking.Send(struct{}{}, nil) {
		}
		if over.CompareAndSwap(false, true) && !a.gone.Load() {
			_ = a.peer.Call("close", asked, nil)
		}
	}()
	return schema.StreamReaderWithConvert(ticks, func(struct{}) (T, error) {
		var chunk T
		if over.Load() {
			return chunk, io.EOF
		}
		var got piece
		err := a.peer.Call("pull", asked, &got)
		if err == nil && !got.End {
			return read(got)
		}
		over.Store(true)
		ticks.Close()
		if err == nil {
			err = io.EOF
		}
		return chunk, err
	})
}
