// Package audit refuses some tools, and writes down the calls of all others.
package audit

import (
	"google.golang.org/adk/agent"
	"google.golang.org/adk/agent/llmagent"
	"google.golang.org/adk/model"
	"google.golang.org/adk/tool"
	"refengine/world"
)

// Subject returns the agent.
func Subject(llm model.LLM, tools []tool.Tool) (agent.Agent, error) {
	return desk(llm, tools, llmagent.Config{BeforeToolCallbacks: []llmagent.BeforeToolCallback{refuse, log}})
}

func refuse(_ tool.Context, called tool.Tool, _ map[string]any) (map[string]any, error) {
	if called.Name() == "delete_all" {
		return map[string]any{"error": "this tool may not be used"}, nil
	}
	return nil, nil
}

func log(ctx tool.Context, called tool.Tool, args map[string]any) (map[string]any, error) {
	world.Effect(ctx, "audit", map[string]any{"tool": called.Name(), "arguments": args})
	return nil, nil
}

func desk(llm model.LLM, tools []tool.Tool, own llmagent.Config) (agent.Agent, error) {
	own.Name, own.Model, own.Tools = "desk", llm, tools
	return llmagent.New(own)
}
