//go:build v07

package eino

import "github.com/cloudwego/eino/adk"

var profileName = profileOf(einoVersion())

// profileOf tells v0.7.17 from v0.7.37, which is built of the same source.
func profileOf(version string) string {
	if version == "v0.7.37" {
		return "eino-0.7.37"
	}
	return "eino-0.7"
}

var capabilities = ofStructs

func (a *agent) addHandlers(*adk.ChatModelAgentConfig, [][]string) {}
