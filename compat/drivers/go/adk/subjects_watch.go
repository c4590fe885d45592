//go:build subject

package adk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
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
	world  *world
	hooks  []string
	seen   map[any]bool
	blamed map[error]any
}

func newWatch(w *world, tools []tool.Tool) *watch {
	made := &watch{world: w, hooks: []string{}, seen: map[any]bool{}, blamed: map[error]any{}}
	for _, each := range tools {
		made.seen[each] = true // they tell by themselves
	}
	return made
}

func (w *watch) dress(made *runner.Config) error {
	if err := w.agent(made.Agent); err != nil {
		return err
	}
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
	tools := state.FieldByName("Tools")
	if !tools.IsValid() {
		return nil
	}
	for _, each := range tools.Interface().([]tool.Tool) {
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
	field.Set(reflect.MakeFunc(field.Type(), func(in []reflect.Value) []reflect.Value {
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
	field.Set(reflect.MakeFunc(field.Type(), func(in []reflect.Value) []reflect.Value {
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

// written returns what a tool is given or gives as text; what is no JSON as Go shows it.
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
	w.blamed[err] = place
}

func (w *watch) placed(err error) error {
	if place := w.placeOf(err); place != nil {
		return peer.Placed(err, place)
	}
	return err
}

func (w *watch) placeOf(err error) any {
	for ; err != nil; err = errors.Unwrap(err) {
		if reflect.TypeOf(err).Comparable() && w.blamed[err] != nil {
			return w.blamed[err]
		}
	}
	return nil
}
