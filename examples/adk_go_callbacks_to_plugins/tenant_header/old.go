// Package tenant tells one agent for whom it works.
package tenant

import (
	"google.golang.org/adk/agent"
	"google.golang.org/adk/agent/llmagent"
	"google.golang.org/adk/model"
	"google.golang.org/adk/tool"
	"google.golang.org/genai"
)

const header = "You work for Example Ltd."

// Subject returns the agent.
func Subject(llm model.LLM, tools []tool.Tool) (agent.Agent, error) {
	return desk(llm, tools, llmagent.Config{BeforeModelCallbacks: []llmagent.BeforeModelCallback{addHeader}})
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
