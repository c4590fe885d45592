package adk

import (
	"context"
	"encoding/binary"
	"maps"
	"sync/atomic"

	"github.com/google/uuid"
	"google.golang.org/adk/artifact"
	"google.golang.org/adk/runner"
	"google.golang.org/adk/session"
	"google.golang.org/genai"

	"driver/peer"
)

const app = "app"

// world is what the harness has opened under a number: services that keep, and the runner
// that was built last over them.
type world struct {
	peer      *peer.Peer
	number    int64
	refs      *peer.Refs
	sessions  keeping
	artifacts artifact.Service
	runner    *runner.Runner
	root      string // the name of a subject's agent
	watch     *watch // of a subject, if there is one
}

// keeping keeps, with a message of the user, the state that comes with it.
type keeping struct {
	session.Service
	coming map[string]any
}

func (k *keeping) AppendEvent(ctx context.Context, to session.Session, told *session.Event) error {
	if len(k.coming) > 0 && told.Author == genai.RoleUser {
		if told.Actions.StateDelta == nil {
			told.Actions.StateDelta = map[string]any{}
		}
		maps.Copy(told.Actions.StateDelta, k.coming)
		k.coming = nil
	}
	return k.Service.AppendEvent(ctx, to, told)
}

// openWorld begins anew to count ids, so that a world has the same ones each time.
func openWorld(p *peer.Peer, number int64) *world {
	uuid.SetRand(&counter{})
	return &world{
		peer: p, number: number, refs: peer.NewRefs(),
		sessions: keeping{Service: session.InMemoryService()}, artifacts: artifact.InMemoryService(),
	}
}

// counter is where ids come from in place of chance.
type counter struct{ last atomic.Uint64 }

func (c *counter) Read(into []byte) (int, error) {
	clear(into)
	binary.BigEndian.PutUint64(into[max(len(into)-8, 0):], c.last.Add(1))
	return len(into), nil
}

type sessionParams struct {
	Do        string            `json:"do"`
	User      string            `json:"user"`
	Session   string            `json:"session"`
	State     map[string]any    `json:"state"`
	Artifacts map[string]string `json:"artifacts"`
	Event     *event            `json:"event"`
}

// kept is what the services have of a session.
type kept struct {
	Events    []event             `json:"events,omitempty"`
	State     map[string]any      `json:"state,omitempty"`
	Artifacts map[string][]string `json:"artifacts,omitempty"`
}

func (w *world) session(asked sessionParams) (any, error) {
	switch asked.Do {
	case "create":
		return nil, w.create(asked)
	case "append":
		return nil, w.append(asked)
	}
	return w.load(asked)
}

// append puts into a session what was said before it is played; what no author said, the
// agent did.
func (w *world) append(asked sessionParams) error {
	ctx := context.Background()
	found, err := w.sessions.Get(ctx, &session.GetRequest{
		AppName: app, UserID: asked.User, SessionID: asked.Session,
	})
	if err != nil {
		return err
	}
	said := session.NewEvent("earlier")
	if said.Author = asked.Event.Author; said.Author == "" {
		said.Author = w.root
	}
	said.Content = asked.Event.Content.read()
	return w.sessions.AppendEvent(ctx, found.Session, said)
}

func (w *world) create(asked sessionParams) error {
	ctx := context.Background()
	_, err := w.sessions.Create(ctx, &session.CreateRequest{
		AppName: app, UserID: asked.User, SessionID: asked.Session, State: asked.State,
	})
	for name, text := range asked.Artifacts {
		if err == nil {
			_, err = w.artifacts.Save(ctx, &artifact.SaveRequest{
				AppName: app, UserID: asked.User, SessionID: asked.Session, FileName: name,
				Part: genai.NewPartFromText(text),
			})
		}
	}
	return err
}

func (w *world) load(asked sessionParams) (*kept, error) {
	found, err := w.sessions.Get(context.Background(), &session.GetRequest{
		AppName: app, UserID: asked.User, SessionID: asked.Session,
	})
	if err != nil {
		return nil, err
	}
	told := &kept{State: map[string]any{}}
	for each := range found.Session.Events().All() {
		told.Events = append(told.Events, tellEvent(each))
	}
	for key, value := range found.Session.State().All() {
		told.State[key] = value
	}
	told.Artifacts, err = w.files(asked)
	return told, err
}

// files has the text of each version of each file, the first version first.
func (w *world) files(asked sessionParams) (map[string][]string, error) {
	ctx, files := context.Background(), map[string][]string{}
	listed, err := w.artifacts.List(ctx, &artifact.ListRequest{
		AppName: app, UserID: asked.User, SessionID: asked.Session,
	})
	if err != nil {
		return nil, err
	}
	for _, name := range listed.FileNames {
		versions, err := w.artifacts.Versions(ctx, &artifact.VersionsRequest{
			AppName: app, UserID: asked.User, SessionID: asked.Session, FileName: name,
		})
		if err != nil {
			return nil, err
		}
		for at := len(versions.Versions) - 1; at >= 0; at-- { // the newest comes first
			loaded, err := w.artifacts.Load(ctx, &artifact.LoadRequest{
				AppName: app, UserID: asked.User, SessionID: asked.Session, FileName: name,
				Version: versions.Versions[at],
			})
			if err != nil {
				return nil, err
			}
			files[name] = append(files[name], loaded.Part.Text)
		}
	}
	return files, nil
}
