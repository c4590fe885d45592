package adk

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"google.golang.org/adk/model"
	"google.golang.org/adk/model/gemini"
	"google.golang.org/genai"
)

// transport answers a request of the vendor's client by what the harness streams: no network
// is there. Its body is server-sent events, a chunk each time one is read.
type transport struct {
	source *source
	next   *brought
	left   []byte
	failed error
}

// vendorOf returns adk-go's own model of Gemini, whose answer is such a stream.
func vendorOf(ctx context.Context, name string, source *source, first brought) (model.LLM, *transport, error) {
	made := &transport{source: source, next: &first}
	llm, err := gemini.NewModel(ctx, name, &genai.ClientConfig{
		APIKey: "none", Backend: genai.BackendGeminiAPI, HTTPClient: &http.Client{Transport: made},
	})
	return llm, made, err
}

func (t *transport) RoundTrip(*http.Request) (*http.Response, error) {
	header := http.Header{"Content-Type": []string{"text/event-stream"}}
	return &http.Response{StatusCode: http.StatusOK, Header: header, Body: t}, nil
}

// Read gives the next chunk as the vendor sends it.
func (t *transport) Read(into []byte) (int, error) {
	if len(t.left) == 0 {
		if err := t.fill(); err != nil {
			return 0, err
		}
	}
	count := copy(into, t.left)
	t.left = t.left[count:]
	return count, nil
}

func (t *transport) fill() error {
	piece := t.next
	t.next = nil
	if piece == nil {
		pulled, err := t.source.pull()
		if err != nil {
			t.failed = err
			return err
		}
		piece = &pulled
	}
	if piece.End {
		return io.EOF
	}
	said, err := json.Marshal(chunkOf(piece.Response))
	t.left = append(append([]byte("data: "), said...), "\n\n"...)
	return err
}

// Close is what the client does with a body that it has done with.
func (t *transport) Close() error { return nil }

// chunkOf returns a chunk as the vendor writes it; nil is one without any candidate.
func chunkOf(said *answer) *genai.GenerateContentResponse {
	if said == nil {
		return &genai.GenerateContentResponse{}
	}
	return &genai.GenerateContentResponse{
		Candidates: []*genai.Candidate{{
			Content: said.Content.read(), FinishReason: genai.FinishReason(said.FinishReason),
		}},
		UsageMetadata: said.Usage.read(),
	}
}
