// Package canned answers what is asked every day without a model, and counts what is asked.
package canned

import (
	"strings"

	"google.golang.org/adk/agent"
	"google.golang.org/adk/agent/llmagent"
	"google.golang.org/adk/model"
	"google.golang.org/adk/tool"
	"google.golang.org/genai"
	"refengine/world"
)

// Subject returns the agent.
func Subject(llm model.LLM, tools []tool.Tool) (agent.Agent, error) {
	return desk(llm, tools, llmagent.Config{BeforeModelCallbacks: []llmagent.BeforeModelCallback{log, answer}})
}

func log(ctx agent.CallbackContext, asked *model.LLMRequest) (*model.LLMResponse, error) {
	world.Effect(ctx, "asked", map[string]any{"agent": ctx.AgentName(), "contents": len(asked.Contents)})
	return nil, nil
}

func answer(_ agent.CallbackContext, asked *model.LLMRequest) (*model.LLMResponse, error) {
	if !strings.Contains(last(asked), "opening hours") {
		return nil, nil
	}
	return &model.LLMResponse{Content: genai.NewContentFromText("From nine to five.", genai.RoleModel)}, nil
}

func last(asked *model.LLMRequest) string {
	if len(asked.Contents) == 0 {
		return ""
	}
	said := ""
	for _, part := range asked.Contents[len(asked.Contents)-1].Parts {
		said += part.Text
	}
	return said
}

func desk(llm model.LLM, tools []tool.Tool, own llmagent.Config) (agent.Agent, error) {
	own.Name, own.Model, own.Tools = "desk", llm, tools
	return llmagent.New(own)
}
