// Package refunds gives money back, up to a limit in each session.
package refunds

import (
	"google.golang.org/adk/agent"
	"google.golang.org/adk/agent/llmagent"
	"google.golang.org/adk/model"
	"google.golang.org/adk/plugin"
	"google.golang.org/adk/runner"
	"google.golang.org/adk/tool"
	"google.golang.org/adk/tool/functiontool"
	"refengine/world"
)

const most = 100

// Subject returns the agent and its plugins.
func Subject(llm model.LLM, tools []tool.Tool) (runner.Config, error) {
	root, err := desk(llm, tools, llmagent.Config{})
	if err != nil {
		return runner.Config{}, err
	}
	limits, err := plugin.New(plugin.Config{Name: "limits", BeforeToolCallback: limit})
	return runner.Config{
		Agent:        root,
		PluginConfig: runner.PluginConfig{Plugins: []*plugin.Plugin{limits}},
	}, err
}

func limit(ctx tool.Context, called tool.Tool, args map[string]any) (map[string]any, error) {
	if called.Name() != "refund" {
		return map[string]any{}, nil
	}
	before, _ := ctx.State().Get("refunded")
	total := number(before) + number(args["amount"])
	if total > most {
		return map[string]any{"error": "too much"}, nil
	}
	return nil, ctx.State().Set("refunded", total)
}

type asked struct {
	Amount float64 `json:"amount"`
}

func refund(ctx tool.Context, of asked) (map[string]any, error) {
	world.Effect(ctx, "refund", map[string]any{"amount": of.Amount})
	return map[string]any{"refunded": of.Amount}, nil
}

func desk(llm model.LLM, tools []tool.Tool, own llmagent.Config) (agent.Agent, error) {
	pay, err := functiontool.New(functiontool.Config{Name: "refund", Description: "Gives money back."}, refund)
	if err != nil {
		return nil, err
	}
	own.Name, own.Model, own.Tools = "desk", llm, append(tools, pay)
	return llmagent.New(own)
}

func number(value any) float64 {
	switch value := value.(type) {
	case int:
		return float64(value)
	case float64:
		return value
	}
	return 0
}
