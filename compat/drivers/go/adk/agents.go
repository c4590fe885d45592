package adk

import (
	"encoding/json"
	"fmt"

	"google.golang.org/adk/agent"
	"google.golang.org/adk/agent/llmagent"
	"google.golang.org/adk/agent/workflowagents/loopagent"
	"google.golang.org/adk/agent/workflowagents/parallelagent"
	"google.golang.org/adk/agent/workflowagents/sequentialagent"
	"google.golang.org/adk/plugin"
	"google.golang.org/adk/runner"
	"google.golang.org/genai"
)

// config is what a runner is made of.
type config struct {
	Agent           agentSpec    `json:"agent"`
	Plugins         []pluginSpec `json:"plugins"`
	ArtifactService bool         `json:"artifact_service"`
	Subject         bool         `json:"subject"`
}

// agentSpec is an agent and all below it; what the harness supplies are numbers.
type agentSpec struct {
	Name                     string             `json:"name"`
	Kind                     string             `json:"kind"`
	Description              string             `json:"description"`
	SubAgents                []agentSpec        `json:"sub_agents"`
	MaxIterations            uint               `json:"max_iterations"`
	Model                    modelSpec          `json:"model"`
	Tools                    []toolSpec         `json:"tools"`
	Instruction              string             `json:"instruction"`
	ProvidedInstruction      *string            `json:"provided_instruction"`
	GlobalInstruction        string             `json:"global_instruction"`
	IncludeContents          string             `json:"include_contents"`
	Temperature              *float32           `json:"temperature"`
	DisallowTransferToParent bool               `json:"disallow_transfer_to_parent"`
	DisallowTransferToPeers  bool               `json:"disallow_transfer_to_peers"`
	InputSchema              json.RawMessage    `json:"input_schema"`
	OutputSchema             json.RawMessage    `json:"output_schema"`
	OutputKey                string             `json:"output_key"`
	Callbacks                map[string][]int64 `json:"callbacks"`
}

type modelSpec struct {
	Model int64  `json:"model"`
	Name  string `json:"name"`
}

type pluginSpec struct {
	Name  string           `json:"name"`
	Hooks map[string]int64 `json:"hooks"`
}

type buildParams struct {
	Config config `json:"config"`
}

// build makes agents, plugins and a runner over the services of the world.
func (w *world) build(asked buildParams) (any, error) {
	if asked.Config.Subject {
		return w.buildSubject(asked.Config)
	}
	root, err := w.agent(asked.Config.Agent)
	if err != nil {
		return nil, err
	}
	made := runner.Config{AppName: app, Agent: root, SessionService: &w.sessions}
	if asked.Config.ArtifactService {
		made.ArtifactService = w.artifacts
	}
	for _, each := range asked.Config.Plugins {
		one, err := w.plugin(each)
		if err != nil {
			return nil, err
		}
		made.PluginConfig.Plugins = append(made.PluginConfig.Plugins, one)
	}
	w.runner, err = runner.New(made)
	return nil, err
}

func (w *world) agent(spec agentSpec) (agent.Agent, error) {
	below := []agent.Agent{}
	for _, each := range spec.SubAgents {
		made, err := w.agent(each)
		if err != nil {
			return nil, err
		}
		below = append(below, made)
	}
	if spec.Kind == "llm" {
		return w.llmAgent(spec, below)
	}
	shared := agent.Config{Name: spec.Name, Description: spec.Description, SubAgents: below}
	for _, number := range spec.Callbacks["before_agent"] {
		hook := w.agentHook("before_agent", number)
		shared.BeforeAgentCallbacks = append(shared.BeforeAgentCallbacks, hook)
	}
	for _, number := range spec.Callbacks["after_agent"] {
		hook := w.agentHook("after_agent", number)
		shared.AfterAgentCallbacks = append(shared.AfterAgentCallbacks, hook)
	}
	switch spec.Kind {
	case "sequential":
		return sequentialagent.New(sequentialagent.Config{AgentConfig: shared})
	case "parallel":
		return parallelagent.New(parallelagent.Config{AgentConfig: shared})
	case "loop":
		return loopagent.New(loopagent.Config{AgentConfig: shared, MaxIterations: spec.MaxIterations})
	}
	return nil, fmt.Errorf("agent %q: there is no kind %q", spec.Name, spec.Kind)
}

func (w *world) llmAgent(spec agentSpec, below []agent.Agent) (agent.Agent, error) {
	made := llmagent.Config{
		Name: spec.Name, Description: spec.Description, SubAgents: below,
		Model:                    &harnessModel{w, spec.Model},
		Instruction:              spec.Instruction,
		GlobalInstruction:        spec.GlobalInstruction,
		IncludeContents:          llmagent.IncludeContents(spec.IncludeContents),
		DisallowTransferToParent: spec.DisallowTransferToParent,
		DisallowTransferToPeers:  spec.DisallowTransferToPeers,
		OutputKey:                spec.OutputKey,
	}
	if provided := spec.ProvidedInstruction; provided != nil {
		made.InstructionProvider = func(agent.ReadonlyContext) (string, error) { return *provided, nil }
	}
	if spec.Temperature != nil {
		made.GenerateContentConfig = &genai.GenerateContentConfig{Temperature: spec.Temperature}
	}
	var err error
	if made.InputSchema, err = schemaOf(spec.InputSchema); err != nil {
		return nil, err
	}
	if made.OutputSchema, err = schemaOf(spec.OutputSchema); err != nil {
		return nil, err
	}
	for _, each := range spec.Tools {
		one, err := w.tool(each)
		if err != nil {
			return nil, err
		}
		made.Tools = append(made.Tools, one)
	}
	for hook, numbers := range spec.Callbacks {
		for _, number := range numbers {
			w.addCallback(&made, hook, number)
		}
	}
	return llmagent.New(made)
}

// schemaOf reads a schema as the vendor's package has it; nil if there is none.
func schemaOf(given json.RawMessage) (*genai.Schema, error) {
	if len(given) == 0 {
		return nil, nil
	}
	made := &genai.Schema{}
	return made, json.Unmarshal(given, made)
}

func (w *world) addCallback(made *llmagent.Config, hook string, number int64) {
	switch hook {
	case "before_agent":
		made.BeforeAgentCallbacks = append(made.BeforeAgentCallbacks, w.agentHook(hook, number))
	case "after_agent":
		made.AfterAgentCallbacks = append(made.AfterAgentCallbacks, w.agentHook(hook, number))
	case "before_model":
		made.BeforeModelCallbacks = append(made.BeforeModelCallbacks, w.beforeModel(number))
	case "after_model":
		made.AfterModelCallbacks = append(made.AfterModelCallbacks, w.afterModel(number))
	case "on_model_error":
		made.OnModelErrorCallbacks = append(made.OnModelErrorCallbacks, w.onModelError(number))
	case "before_tool":
		made.BeforeToolCallbacks = append(made.BeforeToolCallbacks, w.beforeTool(number))
	case "after_tool":
		made.AfterToolCallbacks = append(made.AfterToolCallbacks, w.afterTool(number))
	case "on_tool_error":
		made.OnToolErrorCallbacks = append(made.OnToolErrorCallbacks, w.onToolError(number))
	}
}

func (w *world) plugin(spec pluginSpec) (*plugin.Plugin, error) {
	made := plugin.Config{Name: spec.Name}
	for hook, number := range spec.Hooks {
		switch hook {
		case "on_user_message":
			made.OnUserMessageCallback = w.onUserMessage(number)
		case "before_run":
			made.BeforeRunCallback = w.beforeRun(number)
		case "after_run":
			made.AfterRunCallback = w.afterRun(number)
		case "on_event":
			made.OnEventCallback = w.onEvent(number)
		case "before_agent":
			made.BeforeAgentCallback = w.agentHook(hook, number)
		case "after_agent":
			made.AfterAgentCallback = w.agentHook(hook, number)
		case "before_model":
			made.BeforeModelCallback = w.beforeModel(number)
		case "after_model":
			made.AfterModelCallback = w.afterModel(number)
		case "on_model_error":
			made.OnModelErrorCallback = w.onModelError(number)
		case "before_tool":
			made.BeforeToolCallback = w.beforeTool(number)
		case "after_tool":
			made.AfterToolCallback = w.afterTool(number)
		case "on_tool_error":
			made.OnToolErrorCallback = w.onToolError(number)
		}
	}
	return plugin.New(made)
}
