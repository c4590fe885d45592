// Package adk is a driver of the Agent Development Kit for Go: https://github.com/google/adk-go
//
// It owns agents, runners and services and nothing else. Models, tools, callbacks and plugins
// stay with the harness and are called back, so this program can neither interpret a scenario
// nor report of itself.
package adk

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"runtime/debug"
	"sync"

	"driver/peer"
)

// Main is the driver. It has these functions of a user's, by path and name, if any.
func Main(functions map[string]any) {
	peer.OneAtATime()
	log.SetOutput(io.Discard) // adk-go logs agents that it does not find, which a world sees
	d := &driver{functions: functions, worlds: map[int64]*world{}}
	in, out := peer.Standard()
	d.peer = peer.New(in, out, map[string]peer.Function{
		"initialize": d.initialize,
		"subject":    d.subject,
		"session":    with(d, (*world).session),
		"build":      with(d, (*world).build),
		"run":        with(d, (*world).run),
		"pull":       with(d, (*world).pull),
		"close":      with(d, (*world).close),
		"context":    with(d, (*world).context),
		"reset":      d.reset,
	})
	d.peer.KindOf = kindOf
	if err := d.peer.Serve(); err != nil {
		fmt.Fprintln(os.Stderr, "driver:", err)
		os.Exit(1)
	}
}

// driver holds the worlds that the harness has opened, by the numbers that it gave them.
type driver struct {
	functions map[string]any
	peer      *peer.Peer
	mu        sync.Mutex
	worlds    map[int64]*world
}

func (d *driver) initialize(json.RawMessage) (any, error) {
	return peer.Obj{
		"protocol":     peer.Protocol,
		"engine":       "adk-go",
		"version":      adkVersion(),
		"language":     "go",
		"dialect":      "flow",
		"profile":      profileName,
		"capabilities": capabilities,
	}, nil
}

// capabilities are those of a Flow engine that adk-go has a public place for: its request
// processors are internal.
var capabilities = []string{
	"callbacks", "plugins", "sub_agents", "workflow_agents", "agent_tools", "confirmation",
	"long_running", "structured", "artifacts", "streaming", "edited_response",
}

// adkVersion is what was linked into this program, which nobody has to say.
func adkVersion() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "google.golang.org/adk" {
			return module.Version
		}
	}
	return ""
}

// with answers a call by a function of the world that it names, which is opened when it is
// named first.
func with[P any](d *driver, function func(*world, P) (any, error)) peer.Function {
	return func(params json.RawMessage) (any, error) {
		var named struct {
			Agent int64 `json:"agent"`
		}
		if err := json.Unmarshal(params, &named); err != nil {
			return nil, err
		}
		var asked P
		if err := json.Unmarshal(params, &asked); err != nil {
			return nil, err
		}
		return function(d.world(named.Agent), asked)
	}
}

func (d *driver) world(number int64) *world {
	d.mu.Lock()
	defer d.mu.Unlock()
	found := d.worlds[number]
	if found == nil {
		found = openWorld(d.peer, number)
		d.worlds[number] = found
	}
	return found
}

// reset frees all that a world has numbered and kept.
func (d *driver) reset(params json.RawMessage) (any, error) {
	var named struct {
		Agent int64 `json:"agent"`
	}
	if err := json.Unmarshal(params, &named); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.worlds, named.Agent)
	peer.Collect()
	return nil, nil
}
