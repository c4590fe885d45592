package adk

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/adk/agent"
	"google.golang.org/adk/model"
	"google.golang.org/adk/session"
	"google.golang.org/adk/tool"
	"google.golang.org/genai"

	"driver/peer"
)

// subject is what a hook or a tool may read and change while it is called.
type subject struct {
	ctx      agent.CallbackContext
	tool     tool.Context // nil where no tool is called
	request  *model.LLMRequest
	response *model.LLMResponse
	args     map[string]any
	result   map[string]any
}

type contextParams struct {
	Ctx      int64          `json:"ctx"`
	Do       string         `json:"do"`
	Key      string         `json:"key"`
	Value    any            `json:"value"`
	Hint     string         `json:"hint"`
	Name     string         `json:"name"`
	Part     *part          `json:"part"`
	Args     map[string]any `json:"args"`
	Result   map[string]any `json:"result"`
	Response *content       `json:"response"`
	Request  *change        `json:"request"`
}

// change is how a hook left a request; what it left alone is not there.
type change struct {
	Contents          *[]*content `json:"contents"`
	SystemInstruction *string     `json:"system_instruction"`
	Tools             *[]string   `json:"tools"`
}

// found is what a question about a context brings.
type found struct {
	Value   any   `json:"value,omitempty"`
	Has     bool  `json:"has,omitempty"`
	Part    *part `json:"part,omitempty"`
	Version int64 `json:"version,omitempty"`
}

var errNoCall = errors.New("no tool is called in this context")

// context does one thing to the context of a hook or a tool that is being called.
func (w *world) context(asked contextParams) (any, error) {
	held, err := peer.Get[*subject](w.refs, asked.Ctx)
	if err != nil {
		return nil, err
	}
	switch asked.Do {
	case "read":
		return held.read(asked.Key)
	case "write":
		return nil, held.ctx.State().Set(asked.Key, asked.Value)
	case "save":
		saved, err := held.ctx.Artifacts().Save(held.ctx, asked.Name, asked.Part.read())
		if err != nil {
			return nil, err
		}
		return found{Version: saved.Version}, nil
	case "load":
		return held.load(asked.Name)
	case "change":
		held.change(asked)
		return nil, nil
	}
	if held.tool == nil {
		return nil, errNoCall
	}
	return nil, held.act(asked)
}

func (s *subject) read(key string) (any, error) {
	value, err := s.ctx.State().Get(key)
	if errors.Is(err, session.ErrStateKeyNotExist) {
		return found{}, nil
	}
	return found{Value: value, Has: true}, err
}

func (s *subject) load(name string) (any, error) {
	loaded, err := s.ctx.Artifacts().Load(s.ctx, name)
	if err != nil || loaded.Part == nil {
		return found{}, nil // nothing of that name was saved
	}
	told := tellPart(loaded.Part)
	return found{Part: &told}, nil
}

func (s *subject) act(asked contextParams) error {
	set, _ := asked.Value.(bool)
	name, _ := asked.Value.(string)
	switch asked.Do {
	case "escalate":
		s.tool.Actions().Escalate = set
	case "skip_summarization":
		s.tool.Actions().SkipSummarization = set
	case "transfer_to_agent":
		s.tool.Actions().TransferToAgent = name
	case "ask_confirmation":
		return s.tool.RequestConfirmation(asked.Hint, asked.Value)
	default:
		return fmt.Errorf("nothing is called %q that is done to a context", asked.Do)
	}
	return nil
}

// change leaves in place what a hook has changed in place.
func (s *subject) change(asked contextParams) {
	if asked.Args != nil && s.args != nil {
		maps.Copy(s.args, asked.Args)
	}
	if asked.Result != nil && s.result != nil {
		maps.Copy(s.result, asked.Result)
	}
	if asked.Response != nil && s.response != nil {
		s.response.Content = asked.Response.read()
	}
	if asked.Request != nil && s.request != nil {
		asked.Request.apply(s.request)
	}
}

func (c *change) apply(to *model.LLMRequest) {
	if c.Contents != nil {
		to.Contents = nil
		for _, each := range *c.Contents {
			to.Contents = append(to.Contents, each.read())
		}
	}
	if to.Config == nil {
		to.Config = &genai.GenerateContentConfig{}
	}
	if c.SystemInstruction != nil {
		to.Config.SystemInstruction = genai.NewContentFromText(*c.SystemInstruction, genai.RoleUser)
	}
	if c.Tools == nil {
		return
	}
	for _, each := range to.Config.Tools {
		each.FunctionDeclarations = slices.DeleteFunc(each.FunctionDeclarations,
			func(one *genai.FunctionDeclaration) bool { return !slices.Contains(*c.Tools, one.Name) })
	}
}
