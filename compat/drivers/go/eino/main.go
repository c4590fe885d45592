// Package eino is a driver of eino's agents: https://github.com/cloudwego/eino
//
// It owns the agent loop and nothing else. Model, tools and hooks stay with the harness and
// are called back, so this program can neither interpret a scenario nor report of itself.
package eino

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"sync"

	"driver/peer"
)

// Main is the driver. It has these functions of a user's, by path and name, if any.
func Main(functions map[string]any) {
	peer.OneAtATime()
	d := &driver{functions: functions, agents: map[int64]*agent{}}
	in, out := peer.Standard()
	d.peer = peer.New(in, out, map[string]peer.Function{
		"initialize": d.initialize,
		"subject":    d.subject,
		"build":      d.build,
		"run":        d.run,
		"next":       d.next,
		"pull":       d.pull,
		"close":      d.close,
		"cancel":     d.cancel,
		"reset":      d.reset,
	})
	d.peer.KindOf = kindOf
	if err := d.peer.Serve(); err != nil {
		fmt.Fprintln(os.Stderr, "driver:", err)
		os.Exit(1)
	}
}

// driver holds the agents that the harness has built, by the numbers that it gave them.
type driver struct {
	functions map[string]any
	peer      *peer.Peer
	mu        sync.Mutex
	agents    map[int64]*agent
}

func (d *driver) initialize(json.RawMessage) (any, error) {
	return peer.Obj{
		"protocol":     peer.Protocol,
		"engine":       "eino",
		"version":      einoVersion(),
		"language":     "go",
		"dialect":      "react",
		"profile":      profileName,
		"capabilities": capabilities,
	}, nil
}

// einoVersion is what was linked into this program, which nobody has to say.
func einoVersion() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "github.com/cloudwego/eino" {
			return module.Version
		}
	}
	return ""
}

func (d *driver) agent(number int64) (*agent, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found := d.agents[number]
	if found == nil {
		return nil, fmt.Errorf("there is no agent %d", number)
	}
	return found, nil
}

func (d *driver) build(params json.RawMessage) (any, error) {
	var asked struct {
		Agent  int64  `json:"agent"`
		Config config `json:"config"`
	}
	if err := json.Unmarshal(params, &asked); err != nil {
		return nil, err
	}
	made := newAgent(d.peer, asked.Agent)
	d.mu.Lock()
	d.agents[asked.Agent] = made
	d.mu.Unlock()
	return made.build(asked.Config)
}

// reset frees all that an agent has numbered.
func (d *driver) reset(params json.RawMessage) (any, error) {
	var asked target
	if err := json.Unmarshal(params, &asked); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if gone := d.agents[asked.Agent]; gone != nil {
		gone.gone.Store(true)
	}
	delete(d.agents, asked.Agent)
	peer.Collect()
	return nil, nil
}

// target is what every call about something in this process names.
type target struct {
	Agent  int64 `json:"agent"`
	Run    int64 `json:"run"`
	Stream int64 `json:"stream"`
}

func (d *driver) run(params json.RawMessage) (any, error) {
	var asked runParams
	if err := json.Unmarshal(params, &asked); err != nil {
		return nil, err
	}
	a, err := d.agent(asked.Agent)
	if err != nil {
		return nil, err
	}
	return a.run(asked)
}

func (d *driver) cancel(params json.RawMessage) (any, error) {
	asked, a, err := d.target(params)
	if err != nil {
		return nil, err
	}
	a.cancel(asked.Run)
	return nil, nil
}

func (d *driver) next(params json.RawMessage) (any, error) {
	var asked nextParams
	if err := json.Unmarshal(params, &asked); err != nil {
		return nil, err
	}
	a, err := d.agent(asked.Agent)
	if err != nil {
		return nil, err
	}
	inner, err := peer.Get[inner](a.refs, asked.Token)
	if err != nil {
		return nil, err
	}
	result, err := inner(asked)
	return result, a.placed(err)
}

func (d *driver) pull(params json.RawMessage) (any, error) {
	asked, a, err := d.target(params)
	if err != nil {
		return nil, err
	}
	stream, err := peer.Get[source](a.refs, asked.Stream)
	if err != nil {
		return nil, err
	}
	got, err := stream.pull()
	return got, a.placed(err)
}

func (d *driver) close(params json.RawMessage) (any, error) {
	asked, a, err := d.target(params)
	if err != nil {
		return nil, err
	}
	stream, err := peer.Get[source](a.refs, asked.Stream)
	if err != nil {
		return nil, err
	}
	a.refs.Drop(asked.Stream)
	stream.close()
	return nil, nil
}

func (d *driver) target(params json.RawMessage) (target, *agent, error) {
	var asked target
	if err := json.Unmarshal(params, &asked); err != nil {
		return asked, nil, err
	}
	a, err := d.agent(asked.Agent)
	return asked, a, err
}
