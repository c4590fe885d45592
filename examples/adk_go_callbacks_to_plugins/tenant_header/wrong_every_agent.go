// Package tenant tells one agent for whom it works.
package tenant

import (
	"google.golang.org/adk/agent"
	"google.golang.org/adk/agent/llmagent"
	"google.golang.org/adk/model"
	"google.golang.org/adk/plugin"
	"google.golang.org/adk/runner"
	"google.golang.org/adk/tool"
	"google.golang.org/genai"
)

const header = "You work for Example Ltd."

// Subject returns the agent and its plugins.
func Subject(llm model.LLM, tools []tool.Tool) (runner.Config, error) {
	root, err := desk(llm, tools, llmagent.Config{})
	if err != nil {
		return runner.Config{}, err
	}
	tenant, err := plugin.New(plugin.Config{Name: "tenant", BeforeModelCallback: addHeader})
	return runner.Config{
		Agent:        root,
		PluginConfig: runner.PluginConfig{Plugins: []*plugin.Plugin{tenant}},
	}, err
}

func addHeader(_ agent.CallbackContext, asked *model.LLMRequest) (*model.LLMResponse, error) {
	asked.Config.SystemInstruction.Parts = append(asked.Config.SystemInstruction.Parts, genai.NewPartFromText(header))
	return nil, nil
}

func desk(llm model.LLM, tools []tool.Tool, own llmagent.Config) (agent.Agent, error) {
	clerk, err := llmagent.New(llmagent.Config{Name: "clerk", Model: llm, Description: "Knows the files."})
	if err != nil {
		return nil, err
	}
	own.Name, own.Model, own.Instruction = "desk", llm, "Be kind."
	own.Tools, own.SubAgents = tools, []agent.Agent{clerk}
	return llmagent.New(own)
}
