package adk

import (
	"context"
	"iter"

	"google.golang.org/adk/model"
	"google.golang.org/genai"

	"driver/peer"
)

// harnessModel asks the harness for every response. It stands for a model of the Gemini API,
// as adk-go has it where nobody says anything else.
type harnessModel struct {
	world *world
	spec  modelSpec
}

func (m *harnessModel) Name() string { return m.spec.Name }

// GetGoogleLLMVariant is what newer versions ask a model for.
func (m *harnessModel) GetGoogleLLMVariant() genai.Backend { return genai.BackendGeminiAPI }

// brought is what a pull of the harness's stream brings: a response, a vendor's chunk, which
// may be without any candidate, or the end.
type brought struct {
	Response *answer `json:"response"`
	Chunk    bool    `json:"chunk"`
	End      bool    `json:"end"`
}

func (m *harnessModel) GenerateContent(ctx context.Context, asked *model.LLMRequest, stream bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		source, err := m.ask(asked, stream)
		if err != nil {
			yield(nil, err)
			return
		}
		defer source.close()
		for first := true; ; first = false {
			piece, err := source.pull()
			switch {
			case err != nil:
				yield(nil, err)
				return
			case piece.End:
				return
			case piece.Chunk && first:
				m.aggregated(ctx, source, piece, yield)
				return
			}
			if !yield(piece.Response.read(), nil) {
				return
			}
		}
	}
}

// aggregated yields what the vendor's own package makes of chunks, with adk-go's aggregation
// behind it.
func (m *harnessModel) aggregated(ctx context.Context, source *source, first brought, yield func(*model.LLMResponse, error) bool) {
	vendor, transport, err := vendorOf(ctx, m.Name(), source, first)
	if err != nil {
		yield(nil, err)
		return
	}
	asked := &model.LLMRequest{Contents: []*genai.Content{genai.NewContentFromText("?", genai.RoleUser)}}
	for response, err := range vendor.GenerateContent(ctx, asked, true) {
		if err != nil && transport.failed != nil {
			err = transport.failed // what the harness raised, and not what was made of it
		}
		if !yield(response, err) {
			return
		}
	}
}

// source is a stream of the harness.
type source struct {
	world  *world
	number int64
	ended  bool
}

func (m *harnessModel) ask(asked *model.LLMRequest, stream bool) (*source, error) {
	var left struct {
		Stream int64 `json:"stream"`
	}
	given := peer.Obj{
		"agent": m.world.number, "model": m.spec.Model, "request": tellRequest(asked), "stream": stream,
	}
	err := m.world.peer.Call("model", given, &left)
	return &source{world: m.world, number: left.Stream}, err
}

func (s *source) pull() (piece brought, err error) {
	given := peer.Obj{"agent": s.world.number, "stream": s.number}
	err = s.world.peer.Call("pull", given, &piece)
	s.ended = err != nil || piece.End
	return piece, err
}

// close tells the harness that no more is wanted, unless all of it was had.
func (s *source) close() {
	if !s.ended {
		s.world.peer.Call("close", peer.Obj{"agent": s.world.number, "stream": s.number}, nil)
	}
}
