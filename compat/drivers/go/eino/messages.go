package eino

import (
	"encoding/json"
	"slices"
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

// tell returns a message with its reference; that alone, if the harness knows what it says.
func (a *agent) tell(m *schema.Message) message {
	if m == nil {
		return message{Role: "none"}
	}
	told := contentOf(m)
	a.mu.Lock()
	known, ok := a.told[m]
	a.mu.Unlock()
	if ok && known.says(told) {
		return message{Ref: known.Ref}
	}
	told.Ref = a.refs.Of(m)
	return told
}

// knows notes what the harness was told in a call that it has answered. Before, what runs at
// the same time could name a message that the harness has not read yet.
func (a *agent) knows(messages []*schema.Message, told []message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for at, each := range told {
		if each.Ref != 0 && each.Role != "" {
			a.told[messages[at]] = each
		}
	}
}

// says tells whether both say the same.
func (m message) says(other message) bool {
	return m.Role == other.Role && m.Content == other.Content && m.Name == other.Name &&
		m.ID == other.ID && m.Extra == nil && other.Extra == nil &&
		same(m.ToolCallID, other.ToolCallID) && slices.EqualFunc(m.Calls, other.Calls, call.says)
}

func (c call) says(other call) bool {
	return c.ID == other.ID && c.Name == other.Name && c.Arguments == other.Arguments &&
		same(c.Index, other.Index)
}

func same[T comparable](one, other *T) bool {
	return one == other || one != nil && other != nil && *one == *other
}

// copyOf is not changed by who changes what is at the pointer.
func copyOf[T any](value *T) *T {
	if value == nil {
		return nil
	}
	copied := *value
	return &copied
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
		told.ToolCallID = copyOf(&m.ToolCallID)
		if m.Name == "" {
			told.Name = m.ToolName
		}
	}
	for _, each := range m.ToolCalls {
		told.Calls = append(told.Calls,
			call{copyOf(each.Index), each.ID, each.Function.Name, each.Function.Arguments})
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
