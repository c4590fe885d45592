// Package world is what surrounds an agent while refengine checks it.
//
// Code that is checked tells by Effect what leaves the agent, and takes time and ids from
// here, so that they are the same in every run. Where nothing is checked, Effect does
// nothing, Now is the time of the machine and NewID draws one.
package world

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"
)

// Call asks the harness; into may be nil.
type Call func(ctx context.Context, method string, params map[string]any, into any) error

type key struct{}

var current atomic.Pointer[Call]

// With returns a context in which this package speaks with a harness. Drivers use it.
func With(ctx context.Context, call Call) context.Context {
	return context.WithValue(ctx, key{}, call)
}

// Use has calls without a context of a run go to this harness, too. Drivers use it.
func Use(call Call) { current.Store(&call) }

func found(ctx context.Context) Call {
	if call, ok := ctx.Value(key{}).(Call); ok {
		return call
	}
	if call := current.Load(); call != nil {
		return *call
	}
	return nil
}

// Effect tells what was done outside of the agent: a line of a log, a question to a
// person, a metric. The data are what encoding/json makes of them. The context is that of
// the hook, or one made of it.
func Effect(ctx context.Context, name string, data any) {
	call := found(ctx)
	if call == nil {
		return
	}
	params := map[string]any{"name": name}
	text, err := json.Marshal(data)
	if err != nil {
		params["wrong"] = err.Error()
	} else {
		params["data"] = json.RawMessage(text)
	}
	if err := call(ctx, "effect", params, nil); err != nil {
		panic(fmt.Sprintf("world.Effect(%q): %v", name, err))
	}
}

// Now returns the time on the clock of the session, which begins at 1 January 1970.
func Now(ctx context.Context) time.Time {
	call := found(ctx)
	if call == nil {
		return time.Now()
	}
	var got struct {
		Seconds float64 `json:"seconds"`
	}
	if err := call(ctx, "now", map[string]any{}, &got); err != nil {
		panic(fmt.Sprintf("world.Now: %v", err))
	}
	return time.UnixMicro(int64(got.Seconds * 1e6)).UTC()
}

// NewID returns an id that no other call returns in this session.
func NewID(ctx context.Context) string {
	call := found(ctx)
	if call == nil {
		var drawn [16]byte
		_, _ = rand.Read(drawn[:])
		return hex.EncodeToString(drawn[:])
	}
	var got struct {
		ID string `json:"id"`
	}
	if err := call(ctx, "new_id", map[string]any{}, &got); err != nil {
		panic(fmt.Sprintf("world.NewID: %v", err))
	}
	return got.ID
}
