//go:build subject && v07

package eino

import "github.com/cloudwego/eino/adk"

const instead = "return adk.AgentMiddleware, or a slice of it; this version of eino has no handlers"

func (w *watch) addHandler(*adk.ChatModelAgentConfig, any) bool { return false }
