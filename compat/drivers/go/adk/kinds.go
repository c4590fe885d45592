package adk

import "strings"

// kinds are stable names for what adk-go says in a text alone.
var kinds = []struct{ text, kind string }{
	{"not found.\nAvailable tools", "unknown_tool"},
	{"failed to find agent", "agent_not_found"},
	{"no function call event found", "no_call_found"},
	{"validation failed: last event", "responses_mixed"},
	{"duplicate tool", "duplicate_tool"},
	{"last event is not final", "partial_end"},
	{"state key does not exist", "no_variable"},
	{"failed to load artifact", "no_artifact"},
	{"artifact service is not initialized", "no_artifacts"},
	{"empty response", "empty_response"},
	{"model not configured", "model_missing"},
	{"already registered", "plugin_name"},
}

func kindOf(err error) string {
	if kind := kindOfSubject(err); kind != "" {
		return kind
	}
	for _, each := range kinds {
		if strings.Contains(err.Error(), each.text) {
			return each.kind
		}
	}
	return ""
}
