// Package own loads what a user has built into a driver: a function that returns the
// extensions, or the agent, that are checked.
package own

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
)

// Mistake is a mistake in what a user's function is or returns.
type Mistake struct{ Kind, Text string }

func (e *Mistake) Error() string { return e.Text }

// Wrong is a mistake in what a function takes or returns.
func Wrong(format string, values ...any) error {
	return &Mistake{"wrong-result", fmt.Sprintf(format, values...)}
}

// KindOf returns the kind of a mistake, "" for any other error.
func KindOf(err error) string {
	var known *Mistake
	if errors.As(err, &known) {
		return known.Kind
	}
	return ""
}

// Subject is the function of a user that a process was asked to load.
type Subject struct {
	Name     string
	function reflect.Value
}

// The program is written when a driver is built with users' packages, and has their
// functions by path and name:
//
//	eino.Main(map[string]any{"subject/p12:NewAudit": own0.NewAudit})

// Load returns the function that is asked for, if it can be called: it takes values of these
// types, each of them or none, and returns one result, or a result and an error.
func Load(params json.RawMessage, functions map[string]any, takes ...reflect.Type) (*Subject, error) {
	var asked struct {
		Path string `json:"path"`
		Name string `json:"name"`
	}
	if err := json.Unmarshal(params, &asked); err != nil {
		return nil, err
	}
	if frames == nil {
		frames, os.Stdout = os.Stdout, os.Stderr
	}
	found := functions[asked.Path+":"+asked.Name]
	if found == nil {
		return nil, &Mistake{"missing-name", "this driver was not built with " + asked.Name}
	}
	loaded := &Subject{asked.Name, reflect.ValueOf(found)}
	return loaded, loaded.check(takes)
}

// frames is the output of the process; collected, it would be closed.
var frames *os.File

var errorType = reflect.TypeFor[error]()

func (s *Subject) check(takes []reflect.Type) error {
	made := s.function.Type()
	if made.Kind() != reflect.Func {
		return &Mistake{"not-callable", s.Name + " is not a function"}
	}
	wrong := func(why string) error { return Wrong("%s is a %s: %s", s.Name, made, why) }
	for at := range made.NumIn() {
		if !s.isOption(at) && !contains(takes, made.In(at)) {
			return wrong("write one that takes nothing, or " + listed(takes))
		}
	}
	if out := made.NumOut(); out == 0 || out > 2 || out == 2 && made.Out(1) != errorType {
		return wrong("it has to return one result, or a result and an error")
	}
	return nil
}

// isOption tells whether a parameter is the last one, of any number.
func (s *Subject) isOption(at int) bool {
	made := s.function.Type()
	return made.IsVariadic() && at == made.NumIn()-1
}

func contains(types []reflect.Type, one reflect.Type) bool {
	for _, each := range types {
		if each == one {
			return true
		}
	}
	return false
}

func listed(types []reflect.Type) string {
	names := []string{}
	for _, each := range types {
		names = append(names, each.String())
	}
	return strings.Join(names, ", ")
}

// Call calls the function with those of the values whose types it takes.
func (s *Subject) Call(values map[reflect.Type]any) (any, error) {
	made := s.function.Type()
	var given []reflect.Value
	for at := range made.NumIn() {
		if !s.isOption(at) {
			given = append(given, reflect.ValueOf(values[made.In(at)]))
		}
	}
	out := s.function.Call(given)
	if len(out) == 2 && !out[1].IsNil() {
		return nil, out[1].Interface().(error)
	}
	return out[0].Interface(), nil
}

// IsNil tells whether a value is nil, also inside an interface.
func IsNil(value any) bool {
	found := reflect.ValueOf(value)
	switch found.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Map, reflect.Func, reflect.Interface:
		return found.IsNil()
	}
	return false
}
