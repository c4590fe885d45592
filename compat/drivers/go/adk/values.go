package adk

import (
	"encoding/json"
	"strings"
	"time"

	"google.golang.org/adk/model"
	"google.golang.org/adk/session"
	"google.golang.org/adk/tool/toolconfirmation"
	"google.golang.org/genai"
)

// part is a part of a content as it stands in a frame: what is not there is left out.
type part struct {
	Text       string         `json:"text,omitempty"`
	Thought    bool           `json:"thought,omitempty"`
	Call       *call          `json:"call,omitempty"`
	Response   *response      `json:"response,omitempty"`
	Blob       *blob          `json:"blob,omitempty"`
	File       *file          `json:"file,omitempty"`
	Code       *string        `json:"code,omitempty"`
	CodeResult *codeResult    `json:"code_result,omitempty"`
	Metadata   map[string]any `json:"metadata,omitempty"`
}

type call struct {
	Name string         `json:"name"`
	Args map[string]any `json:"args,omitempty"`
	ID   string         `json:"id,omitempty"`
}

// response is what a tool gave; null is a tool that gave nothing.
type response struct {
	Name     string          `json:"name"`
	Response json.RawMessage `json:"response,omitempty"`
	ID       string          `json:"id,omitempty"`
}

type blob struct {
	Data        []byte `json:"data"`
	MIMEType    string `json:"mime_type,omitempty"`
	DisplayName string `json:"display_name,omitempty"`
}

type file struct {
	URI         string `json:"uri"`
	MIMEType    string `json:"mime_type,omitempty"`
	DisplayName string `json:"display_name,omitempty"`
}

type codeResult struct {
	Output  string `json:"output,omitempty"`
	Outcome string `json:"outcome,omitempty"`
}

type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts,omitempty"`
}

func tellContent(c *genai.Content) *content {
	if c == nil {
		return nil
	}
	told := &content{Role: c.Role}
	for _, each := range c.Parts {
		told.Parts = append(told.Parts, tellPart(each))
	}
	return told
}

func tellPart(p *genai.Part) part {
	if p == nil {
		return part{}
	}
	told := part{Text: p.Text, Thought: p.Thought}
	if c := p.FunctionCall; c != nil {
		told.Call = &call{c.Name, c.Args, c.ID}
	}
	if r := p.FunctionResponse; r != nil {
		given, err := json.Marshal(r.Response)
		if err != nil { // a result of Go that JSON cannot say
			given, _ = json.Marshal(map[string]any{"error": err.Error()})
		}
		told.Response = &response{r.Name, given, r.ID}
	}
	if b := p.InlineData; b != nil {
		told.Blob = &blob{b.Data, b.MIMEType, b.DisplayName}
	}
	if f := p.FileData; f != nil {
		told.File = &file{f.FileURI, f.MIMEType, f.DisplayName}
	}
	if p.ExecutableCode != nil {
		told.Code = &p.ExecutableCode.Code
	}
	if r := p.CodeExecutionResult; r != nil {
		told.CodeResult = &codeResult{r.Output, string(r.Outcome)}
	}
	return told
}

func (c *content) read() *genai.Content {
	if c == nil {
		return nil
	}
	made := &genai.Content{Role: c.Role}
	for _, each := range c.Parts {
		made.Parts = append(made.Parts, each.read())
	}
	return made
}

func (p part) read() *genai.Part {
	made := &genai.Part{Text: p.Text, Thought: p.Thought}
	if p.Call != nil {
		args := p.Call.Args
		if args == nil {
			args = map[string]any{}
		}
		made.FunctionCall = &genai.FunctionCall{ID: p.Call.ID, Name: p.Call.Name, Args: args}
	}
	if p.Response != nil {
		made.FunctionResponse = &genai.FunctionResponse{
			ID: p.Response.ID, Name: p.Response.Name, Response: p.Response.given(),
		}
	}
	if p.Blob != nil {
		made.InlineData = &genai.Blob{
			Data: p.Blob.Data, MIMEType: p.Blob.MIMEType, DisplayName: p.Blob.DisplayName,
		}
	}
	if p.File != nil {
		made.FileData = &genai.FileData{
			FileURI: p.File.URI, MIMEType: p.File.MIMEType, DisplayName: p.File.DisplayName,
		}
	}
	if p.Code != nil {
		made.ExecutableCode = &genai.ExecutableCode{Code: *p.Code}
	}
	if p.CodeResult != nil {
		made.CodeExecutionResult = &genai.CodeExecutionResult{
			Output: p.CodeResult.Output, Outcome: genai.Outcome(p.CodeResult.Outcome),
		}
	}
	return made
}

func (r *response) given() map[string]any {
	made := map[string]any{}
	if len(r.Response) > 0 {
		json.Unmarshal(r.Response, &made) // null leaves nil: a tool that gave nothing
	}
	return made
}

type usage struct {
	Prompt   int32 `json:"prompt,omitempty"`
	Answer   int32 `json:"answer,omitempty"`
	Thoughts int32 `json:"thoughts,omitempty"`
	Total    int32 `json:"total,omitempty"`
}

// answer is a response of a model as it stands in a frame.
type answer struct {
	Content      *content `json:"content,omitempty"`
	Partial      bool     `json:"partial,omitempty"`
	TurnComplete bool     `json:"turn_complete,omitempty"`
	Interrupted  bool     `json:"interrupted,omitempty"`
	ErrorCode    string   `json:"error_code,omitempty"`
	ErrorMessage string   `json:"error_message,omitempty"`
	FinishReason string   `json:"finish_reason,omitempty"`
	Usage        *usage   `json:"usage,omitempty"`
	Grounding    any      `json:"grounding,omitempty"`
}

func tellAnswer(r *model.LLMResponse) answer {
	told := answer{
		Content: tellContent(r.Content), Partial: r.Partial, TurnComplete: r.TurnComplete,
		Interrupted: r.Interrupted, ErrorCode: r.ErrorCode, ErrorMessage: r.ErrorMessage,
		FinishReason: string(r.FinishReason),
	}
	if u := r.UsageMetadata; u != nil {
		told.Usage = &usage{
			u.PromptTokenCount, u.CandidatesTokenCount, u.ThoughtsTokenCount, u.TotalTokenCount,
		}
	}
	if r.GroundingMetadata != nil {
		told.Grounding = r.GroundingMetadata
	}
	return told
}

func (a *answer) read() *model.LLMResponse {
	if a == nil {
		return nil
	}
	return &model.LLMResponse{
		Content: a.Content.read(), Partial: a.Partial, TurnComplete: a.TurnComplete,
		Interrupted: a.Interrupted, ErrorCode: a.ErrorCode, ErrorMessage: a.ErrorMessage,
		FinishReason: genai.FinishReason(a.FinishReason), UsageMetadata: a.Usage.read(),
	}
}

func (u *usage) read() *genai.GenerateContentResponseUsageMetadata {
	if u == nil {
		return nil
	}
	return &genai.GenerateContentResponseUsageMetadata{
		PromptTokenCount: u.Prompt, CandidatesTokenCount: u.Answer,
		ThoughtsTokenCount: u.Thoughts, TotalTokenCount: u.Total,
	}
}

type confirmation struct {
	Hint      string `json:"hint,omitempty"`
	Confirmed bool   `json:"confirmed,omitempty"`
	Payload   any    `json:"payload,omitempty"`
}

func tellConfirmation(c *toolconfirmation.ToolConfirmation) *confirmation {
	if c == nil {
		return nil
	}
	return &confirmation{c.Hint, c.Confirmed, c.Payload}
}

// actions are those of an event; a flag that is not set was not said.
type actions struct {
	StateDelta             map[string]any           `json:"state_delta,omitempty"`
	ArtifactDelta          map[string]int64         `json:"artifact_delta,omitempty"`
	RequestedConfirmations map[string]*confirmation `json:"requested_confirmations,omitempty"`
	SkipSummarization      bool                     `json:"skip_summarization,omitempty"`
	TransferToAgent        string                   `json:"transfer_to_agent,omitempty"`
	Escalate               bool                     `json:"escalate,omitempty"`
}

// event is an entry of a session as it stands in a frame.
type event struct {
	answer
	Author         string   `json:"author,omitempty"`
	ID             string   `json:"id,omitempty"`
	InvocationID   string   `json:"invocation_id,omitempty"`
	Branch         string   `json:"branch,omitempty"`
	Timestamp      float64  `json:"timestamp,omitempty"`
	Actions        actions  `json:"actions"`
	LongRunningIDs []string `json:"long_running_ids,omitempty"`
}

func tellEvent(e *session.Event) event {
	asked := map[string]*confirmation{}
	for id, each := range e.Actions.RequestedToolConfirmations {
		asked[id] = tellConfirmation(&each)
	}
	return event{
		answer: tellAnswer(&e.LLMResponse),
		Author: e.Author, ID: e.ID, InvocationID: e.InvocationID, Branch: e.Branch,
		Timestamp: float64(e.Timestamp.UnixNano()) / float64(time.Second),
		Actions: actions{
			e.Actions.StateDelta, e.Actions.ArtifactDelta, asked,
			e.Actions.SkipSummarization, e.Actions.TransferToAgent, e.Actions.Escalate,
		},
		LongRunningIDs: e.LongRunningToolIDs,
	}
}

// declaration is what a model is told of a tool.
type declaration struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Parameters  any    `json:"parameters,omitempty"`
}

type requestConfig struct {
	SystemInstruction string        `json:"system_instruction,omitempty"`
	Tools             []declaration `json:"tools,omitempty"`
	ResponseSchema    any           `json:"response_schema,omitempty"`
	ResponseMIMEType  string        `json:"response_mime_type,omitempty"`
	Temperature       *float32      `json:"temperature,omitempty"`
}

// request is what a model is asked.
type request struct {
	Model    string        `json:"model,omitempty"`
	Contents []*content    `json:"contents,omitempty"`
	Config   requestConfig `json:"config"`
}

func tellRequest(r *model.LLMRequest) request {
	told := request{Model: r.Model}
	for _, each := range r.Contents {
		told.Contents = append(told.Contents, tellContent(each))
	}
	config := r.Config
	if config == nil {
		return told
	}
	told.Config = requestConfig{
		SystemInstruction: instructionOf(config), ResponseMIMEType: config.ResponseMIMEType,
		Temperature: config.Temperature,
	}
	for _, each := range config.Tools {
		for _, one := range each.FunctionDeclarations {
			told.Config.Tools = append(told.Config.Tools, tellDeclaration(one))
		}
	}
	if config.ResponseSchema != nil {
		told.Config.ResponseSchema = config.ResponseSchema
	} else {
		told.Config.ResponseSchema = config.ResponseJsonSchema
	}
	return told
}

func tellDeclaration(d *genai.FunctionDeclaration) declaration {
	told := declaration{d.Name, d.Description, d.ParametersJsonSchema}
	if told.Parameters == nil && d.Parameters != nil {
		told.Parameters = d.Parameters
	}
	return told
}

// instructionOf joins what adk-go appends part by part, a blank line between.
func instructionOf(config *genai.GenerateContentConfig) string {
	if config.SystemInstruction == nil {
		return ""
	}
	texts := []string{}
	for _, each := range config.SystemInstruction.Parts {
		texts = append(texts, each.Text)
	}
	return strings.Join(texts, "\n\n")
}
