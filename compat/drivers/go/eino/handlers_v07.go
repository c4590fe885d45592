//go:build v07

package main

import "github.com/cloudwego/eino/adk"

const profileName = "eino-0.7"

var capabilities = ofStructs

func (a *agent) addHandlers(*adk.ChatModelAgentConfig, [][]string) {}
