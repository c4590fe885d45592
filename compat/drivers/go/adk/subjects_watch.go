//go:build subject

package adk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unsafe"

	"google.golang.org/adk/agent"
	"google.golang.org/adk/runner"
	"google.golang.org/adk/tool"

	"driver/own"
	"driver/peer"
)

// watch counts how often each callback of a subject is entered, and tells what its own tools
// do. adk-go gives no way to the callbacks of an agent that is made, so they are found as
// fields of it; its versions are pinned, and one that has them elsewhere fails a test.
type watch struct {
	world *world
	hooks []string
	undo  []func()

	lock   sync.Mutex // toolsets are asked, and errors arise, in agents that run at once
	seen   map[any]bool
	blamed map[error]any
}

// worn is what the last agent is watched by.
var worn *watch

// newWatch ends what watches the last agent: an author may have made a tool, or an agent,
// once and for all.
func newWatch(w *world, tools []tool.Tool) *watch {
	if worn != nil {
		worn.end()
	}
	made := &watch{world: w, hooks: []string{}, seen: map[any]bool{}, blamed: map[error]any{}}
	for _, each := range tools {
		made.seen[each] = true // they tell by themselves
	}
	worn = made
	return made
}

// end puts back what stood in the fields.
func (w *watch) end() {
	for _, undo := range slices.Backward(w.undo) {
		undo()
	}
}

func (w *watch) set(field, value reflect.Value) {
	before := reflect.ValueOf(field.Interface())
	w.undo = append(w.undo, func() { field.Set(before) })
	field.Set(value)
}

func (w *watch) dress(made *runner.Config) error {
	if err := w.agent(made.Agent); err != nil {
		return err
	}
	made.PluginConfig.Plugins = slices.Clone(made.PluginConfig.Plugins)
	for at, each := range made.PluginConfig.Plugins {
		if each == nil {
			return own.Wrong("%s returns a nil plugin", loaded.Name)
		}
		name := each.Name()
		dressed, err := pluginOf(each, func(field reflect.Value, stage string) {
			w.hook(field, name+"."+stage, stage)
		})
		if err != nil {
			return err
		}
		made.PluginConfig.Plugins[at] = dressed
	}
	return nil
}

// agent watches an agent, and all below it.
func (w *watch) agent(one agent.Agent) error {
	inside := reflect.ValueOf(one)
	if inside.Kind() != reflect.Pointer || inside.Elem().Kind() != reflect.Struct {
		return own.Wrong("agent %q is a %T: make agents by the constructors of adk-go", one.Name(), one)
	}
	if w.seen[one] {
		return nil
	}
	w.seen[one] = true
	if err := w.fields(one.Name(), inside.Elem()); err != nil {
		return err
	}
	for _, each := range one.SubAgents() {
		if err := w.agent(each); err != nil {
			return err
		}
	}
	return nil
}

func (w *watch) fields(name string, inside reflect.Value) error {
	for at := range inside.NumField() {
		called, field := inside.Type().Field(at).Name, settable(inside.Field(at))
		stage, isHook := stageOf(called)
		switch {
		case isHook && field.Kind() == reflect.Slice:
			for each := range field.Len() {
				place := fmt.Sprintf("%s.%s", name, stage)
				if field.Len() > 1 {
					place = fmt.Sprintf("%s[%d]", place, each)
				}
				w.hook(field.Index(each), place, stage)
			}
		case called == "Agent" && field.Kind() == reflect.Interface: // what a model's agent is made of
			if err := w.fields(name, field.Elem().Elem()); err != nil {
				return err
			}
		case called == "State" && field.Kind() == reflect.Struct:
			if err := w.state(name, field); err != nil {
				return err
			}
		}
	}
	return nil
}

// state watches the tools of an agent, whose model has to be the world's.
func (w *watch) state(name string, state reflect.Value) error {
	if asked := state.FieldByName("Model"); asked.IsValid() && !asked.IsNil() {
		if _, isOurs := asked.Interface().(*harnessModel); !isOurs {
			return own.Wrong("agent %q asks a %T, which nobody sees: give it the model.LLM that %s takes",
				name, asked.Interface(), loaded.Name)
		}
	}
	if sets := state.FieldByName("Toolsets"); sets.IsValid() {
		watched := []tool.Toolset{}
		for _, each := range sets.Interface().([]tool.Toolset) {
			watched = append(watched, &watchedSet{each, w})
		}
		w.set(sets, reflect.ValueOf(watched))
	}
	if tools := state.FieldByName("Tools"); tools.IsValid() {
		return w.tools(tools.Interface().([]tool.Tool))
	}
	return nil
}

// watchedSet watches the tools that a toolset gives when it is asked.
type watchedSet struct {
	tool.Toolset
	watch *watch
}

func (s *watchedSet) Tools(ctx agent.ReadonlyContext) ([]tool.Tool, error) {
	found, err := s.Toolset.Tools(ctx)
	if err != nil {
		s.watch.blame(err, peer.Obj{"hook": "tools", "of": s.Name()})
		return found, err
	}
	s.watch.lock.Lock()
	defer s.watch.lock.Unlock()
	return found, s.watch.tools(found)
}

func (w *watch) tools(several []tool.Tool) error {
	for _, each := range several {
		if err := w.tool(each); err != nil {
			return err
		}
	}
	return nil
}

func (w *watch) tool(one tool.Tool) error {
	inside := reflect.ValueOf(one)
	if inside.Kind() != reflect.Pointer || inside.Elem().Kind() != reflect.Struct || w.seen[one] {
		return nil
	}
	w.seen[one] = true
	if below := inside.Elem().FieldByName("agent"); below.IsValid() {
		if found, isAgent := settable(below).Interface().(agent.Agent); isAgent {
			return w.agent(found)
		}
	}
	if handler := inside.Elem().FieldByName("handler"); handler.IsValid() && handler.Kind() == reflect.Func {
		w.handler(settable(handler), one.Name())
	}
	return nil
}

// settable returns a field that can be read and set, wherever it stands.
func settable(field reflect.Value) reflect.Value {
	return reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem()
}

// stageOf returns what a field with callbacks is called elsewhere: before_model for
// beforeModelCallbacks.
func stageOf(field string) (string, bool) {
	name, isHook := strings.CutSuffix(strings.TrimSuffix(field, "s"), "Callback")
	var stage strings.Builder
	for at, each := range name {
		if unicode.IsUpper(each) && at > 0 {
			stage.WriteByte('_')
		}
		stage.WriteRune(unicode.ToLower(each))
	}
	return stage.String(), isHook
}

// hook has a callback tell that it is entered, and where an error of it arose.
func (w *watch) hook(field reflect.Value, name, stage string) {
	called := reflect.ValueOf(field.Interface())
	w.hooks = append(w.hooks, name)
	w.set(field, reflect.MakeFunc(field.Type(), func(in []reflect.Value) []reflect.Value {
		w.world.peer.Tell("entered", peer.Obj{"agent": w.world.number, "hook": name})
		out := called.Call(in)
		if len(out) > 0 {
			err, _ := out[len(out)-1].Interface().(error)
			w.blame(err, peer.Obj{"hook": stage, "of": name})
		}
		return out
	}))
}

// handler has a tool of the subject's own tell what it does.
func (w *watch) handler(field reflect.Value, name string) {
	called := reflect.ValueOf(field.Interface())
	w.set(field, reflect.MakeFunc(field.Type(), func(in []reflect.Value) []reflect.Value {
		ctx, _ := in[0].Interface().(context.Context)
		id := callOf(ctx)
		w.tell("tool_start", id, peer.Obj{"name": name, "arguments": written(in[1].Interface()), "mode": "invoke",
			"implementation": "the subject's own " + name})
		out := called.Call(in)
		if err, _ := out[1].Interface().(error); err != nil {
			w.tell("tool_error", id, peer.Obj{"error": peer.TypeOf(err)})
			w.blame(err, peer.Obj{"tool": name, "call_id": id})
		} else {
			w.tell("tool_end", id, peer.Obj{"result": written(out[0].Interface())})
		}
		return out
	}))
}

func (w *watch) tell(kind, id string, data peer.Obj) {
	asked := peer.Obj{"agent": w.world.number, "kind": kind, "data": data, "ctx": 0, "call_id": id}
	_ = w.world.peer.Call("tool_run", asked, nil)
}

// written returns what a tool is given or gives as text; what is not JSON as Go shows it.
func written(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// blame notes where an error of the user's code arose; the first note counts.
func (w *watch) blame(err error, place any) {
	if err == nil || !reflect.TypeOf(err).Comparable() || w.placeOf(err) != nil {
		return
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	w.blamed[err] = place
}

func (w *watch) placed(err error) error {
	if place := w.placeOf(err); place != nil {
		return peer.Placed(err, place)
	}
	return err
}

func (w *watch) placeOf(err error) any {
	w.lock.Lock()
	defer w.lock.Unlock()
	for ; err != nil; err = errors.Unwrap(err) {
		if reflect.TypeOf(err).Comparable() && w.blamed[err] != nil {
			return w.blamed[err]
		}
	}
	return nil
}
