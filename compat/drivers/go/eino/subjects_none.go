//go:build !subject

package eino

import (
	"encoding/json"
	"errors"

	"github.com/cloudwego/eino/adk"
)

// addSubject is for drivers that are built with a user's package.
func (a *agent) addSubject(*adk.ChatModelAgentConfig) (any, error) {
	return nil, errors.New("this driver was built without a subject")
}

func kindOfSubject(error) string { return "" }

func (d *driver) subject(json.RawMessage) (any, error) {
	return nil, errors.New("this driver was built without a subject")
}
