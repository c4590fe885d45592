//go:build subject

package adk

import (
	"context"
	"encoding/json"
	"reflect"

	"google.golang.org/adk/agent"
	"google.golang.org/adk/model"
	"google.golang.org/adk/plugin"
	"google.golang.org/adk/runner"
	"google.golang.org/adk/tool"
	ours "refengine/world"

	"driver/own"
	"driver/peer"
)

// loaded is the function that this process was asked to load.
var loaded *own.Subject

func kindOfSubject(err error) string { return own.KindOf(err) }

// What a user's function may take: a context, the model, the tools and the instruction that
// the world has.
var (
	contextType     = reflect.TypeFor[context.Context]()
	modelType       = reflect.TypeFor[model.LLM]()
	toolsType       = reflect.TypeFor[[]tool.Tool]()
	instructionType = reflect.TypeFor[string]()
)

const instead = "return an agent.Agent, or a runner.Config with an agent and plugins"

func (d *driver) subject(params json.RawMessage) (any, error) {
	found, err := own.Load(params, d.functions, contextType, modelType, toolsType, instructionType)
	if err != nil {
		return nil, err
	}
	loaded = found
	return peer.Obj{"name": loaded.Name}, nil
}

// buildSubject makes a runner of what the user's function returns. Sessions and files are
// those of the world.
func (w *world) buildSubject(c config) (any, error) {
	call := w.worldCall()
	ours.Use(call)
	tools := []tool.Tool{}
	for _, each := range c.Agent.Tools {
		one, err := w.tool(each)
		if err != nil {
			return nil, err
		}
		tools = append(tools, one)
	}
	returned, err := loaded.Call(map[reflect.Type]any{
		contextType: ours.With(context.Background(), call), toolsType: tools,
		modelType: &harnessModel{w, c.Agent.Model}, instructionType: c.Agent.Instruction,
	})
	if err != nil {
		return nil, err
	}
	made, err := configured(returned)
	if err != nil {
		return nil, err
	}
	w.watch = newWatch(w, tools)
	if err := w.watch.dress(&made); err != nil {
		return nil, err
	}
	made.AppName, made.SessionService, made.ArtifactService = app, &w.sessions, w.artifacts
	w.root = made.Agent.Name()
	if w.runner, err = runner.New(made); err != nil {
		return nil, own.Wrong("%s returns what no runner takes: %v", loaded.Name, err)
	}
	return peer.Obj{"hooks": w.watch.hooks, "names": []string{}}, nil
}

func configured(returned any) (runner.Config, error) {
	if pointer, isPointer := returned.(*runner.Config); isPointer && pointer != nil {
		returned = *pointer
	}
	if whole, isWhole := returned.(runner.Config); isWhole {
		if whole.Agent == nil {
			return whole, own.Wrong("%s returns a runner.Config without an Agent", loaded.Name)
		}
		if whole.SessionService != nil || whole.ArtifactService != nil || whole.MemoryService != nil {
			return whole, own.Wrong("%s returns a runner.Config with services: leave them out, since"+
				" sessions and files are the world's", loaded.Name)
		}
		return whole, nil
	}
	if own.IsNil(returned) {
		return runner.Config{}, own.Wrong("%s returns nil", loaded.Name)
	}
	root, isAgent := returned.(agent.Agent)
	if !isAgent {
		return runner.Config{}, own.Wrong("%s returns a %T: %s", loaded.Name, returned, instead)
	}
	return runner.Config{Agent: root}, nil
}

// worldCall is how a user's code speaks with the harness.
func (w *world) worldCall() ours.Call {
	return func(ctx context.Context, method string, params map[string]any, into any) error {
		params["agent"], params["ctx"], params["call_id"] = w.number, 0, callOf(ctx)
		return w.peer.Call(method, params, into)
	}
}

func callOf(ctx any) string {
	if called, isCalled := ctx.(interface{ FunctionCallID() string }); isCalled {
		return called.FunctionCallID()
	}
	return ""
}

func (w *world) placed(err error) error {
	if w.watch == nil {
		return err
	}
	return w.watch.placed(err)
}

// pluginOf returns a plugin with other functions in the place of its own.
func pluginOf(given *plugin.Plugin, dress func(reflect.Value, string)) (*plugin.Plugin, error) {
	made := plugin.Config{
		Name:                  given.Name(),
		OnUserMessageCallback: given.OnUserMessageCallback(),
		OnEventCallback:       given.OnEventCallback(),
		BeforeRunCallback:     given.BeforeRunCallback(),
		AfterRunCallback:      given.AfterRunCallback(),
		BeforeAgentCallback:   given.BeforeAgentCallback(),
		AfterAgentCallback:    given.AfterAgentCallback(),
		BeforeModelCallback:   given.BeforeModelCallback(),
		AfterModelCallback:    given.AfterModelCallback(),
		OnModelErrorCallback:  given.OnModelErrorCallback(),
		BeforeToolCallback:    given.BeforeToolCallback(),
		AfterToolCallback:     given.AfterToolCallback(),
		OnToolErrorCallback:   given.OnToolErrorCallback(),
		CloseFunc:             given.Close,
	}
	fields := reflect.ValueOf(&made).Elem()
	for at := range fields.NumField() {
		field := fields.Field(at)
		if stage, isHook := stageOf(fields.Type().Field(at).Name); isHook && !field.IsNil() {
			dress(field, stage)
		}
	}
	return plugin.New(made)
}
