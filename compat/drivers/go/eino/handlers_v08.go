//go:build v08

package eino

import "github.com/cloudwego/eino/adk"

const profileName = "eino-0.8"

var capabilities = ofHandlers

func newHandler(h handler) adk.ChatModelAgentMiddleware { return &h }
