//go:build !subject

package adk

import (
	"encoding/json"
	"errors"
)

var errNoSubject = errors.New("this driver was built without a subject")

func (d *driver) subject(json.RawMessage) (any, error) { return nil, errNoSubject }

// buildSubject is for drivers that are built with a user's package.
func (w *world) buildSubject(config) (any, error) { return nil, errNoSubject }

func (w *world) placed(err error) error { return err }

// watch is of a subject.
type watch struct{}

func kindOfSubject(error) string { return "" }
