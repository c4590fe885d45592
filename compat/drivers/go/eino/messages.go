package main

import (
	"encoding/json"
	"strings"

	"github.com/cloudwego/eino/schema"
)

// The harness's id of a message, which eino's messages have no field for.
const idKey = "refengine_id"

// What eino itself puts into a message's extra begins like this.
const ownKeys = "_eino"

type call struct {
	Index     *int   `json:"index,omitempty"`
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// message is one message, or one chunk of an answer. A reference in place of all else is a
// message that this process has already.
type message struct {
	Ref        int64                      `json:"ref,omitempty"`
	Role       string                     `json:"role,omitempty"`
	Content    string                     `json:"content,omitempty"`
	Calls      []call                     `json:"tool_calls,omitempty"`
	ToolCallID *string                    `json:"tool_call_id,omitempty"`
	Name       string                     `json:"name,omitempty"`
	ID         string                     `json:"id,omitempty"`
	Extra      map[string]json.RawMessage `json:"extra,omitempty"`
}

// tell returns a message with its reference.
func (a *agent) tell(m *schema.Message) message {
	if m == nil {
		return message{Role: "none"}
	}
	told := contentOf(m)
	told.Ref = a.refs.Of(m)
	return told
}

func (a *agent) tellAll(messages []*schema.Message) []message {
	told := make([]message, 0, len(messages))
	for _, each := range messages {
		told = append(told, a.tell(each))
	}
	return told
}

func contentOf(m *schema.Message) message {
	told := message{Role: string(m.Role), Content: m.Content, Name: m.Name}
	if m.Role == schema.Tool {
		told.ToolCallID = &m.ToolCallID
		if m.Name == "" {
			told.Name = m.ToolName
		}
	}
	for _, each := range m.ToolCalls {
		told.Calls = append(told.Calls,
			call{each.Index, each.ID, each.Function.Name, each.Function.Arguments})
	}
	for key, value := range m.Extra {
		if key == idKey {
			told.ID, _ = value.(string)
		} else if !strings.HasPrefix(key, ownKeys) {
			told.tellExtra(key, value)
		}
	}
	return told
}

func (m *message) tellExtra(key string, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		return // no JSON, so the harness did not put it there
	}
	if m.Extra == nil {
		m.Extra = map[string]json.RawMessage{}
	}
	m.Extra[key] = text
}

func (a *agent) read(told message) (*schema.Message, error) {
	if told.Ref != 0 {
		return get[*schema.Message](a, told.Ref)
	}
	m := &schema.Message{Role: schema.RoleType(told.Role), Content: told.Content, Name: told.Name}
	if told.ToolCallID != nil {
		m.ToolCallID = *told.ToolCallID
	}
	if m.Role == schema.Tool {
		m.ToolName, m.Name = told.Name, ""
	}
	for _, each := range told.Calls {
		m.ToolCalls = append(m.ToolCalls, schema.ToolCall{Index: each.Index, ID: each.ID,
			Type: "function", Function: schema.FunctionCall{Name: each.Name, Arguments: each.Arguments}})
	}
	extra, err := told.readExtra()
	m.Extra = extra
	return m, err
}

func (m message) readExtra() (map[string]any, error) {
	if m.ID == "" && len(m.Extra) == 0 {
		return nil, nil
	}
	extra := map[string]any{}
	if m.ID != "" {
		extra[idKey] = m.ID
	}
	for key, text := range m.Extra {
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			return nil, err
		}
		extra[key] = value
	}
	return extra, nil
}

func (a *agent) readAll(told []message) ([]*schema.Message, error) {
	messages := make([]*schema.Message, 0, len(told))
	for _, each := range told {
		m, err := a.read(each)
		if err != nil {
			return nil, err
		}
		messages = append(messages, m)
	}
	return messages, nil
}
