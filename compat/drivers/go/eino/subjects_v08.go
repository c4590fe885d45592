//go:build subject && v08

package eino

import "github.com/cloudwego/eino/adk"

func newWatched(h watchedHandler) adk.ChatModelAgentMiddleware { return &h }
