package eino

import (
	"context"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

// harnessModel asks the harness for every answer. Tools come as an option of the call in
// newer versions, and are bound by WithTools in older ones.
type harnessModel struct {
	agent *agent
	bound []*schema.ToolInfo
}

func (m *harnessModel) WithTools(infos []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	return &harnessModel{m.agent, infos}, nil
}

func (m *harnessModel) Generate(ctx context.Context, input []*schema.Message, options ...model.Option) (*schema.Message, error) {
	var got message
	if err := m.ask(ctx, "invoke", input, options, &got); err != nil {
		return nil, err
	}
	return m.agent.read(got)
}

func (m *harnessModel) Stream(ctx context.Context, input []*schema.Message, options ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	var got streamed
	if err := m.ask(ctx, "stream", input, options, &got); err != nil {
		return nil, err
	}
	return pulled(m.agent, got.Stream, m.agent.readChunk), nil
}

type modelParams struct {
	Agent    int64      `json:"agent"`
	Mode     string     `json:"mode"`
	Ctx      int64      `json:"ctx"`
	Messages []message  `json:"messages"`
	Tools    []toolSpec `json:"tools"`
}

func (m *harnessModel) ask(ctx context.Context, mode string, input []*schema.Message, options []model.Option, into any) error {
	infos := m.bound
	if given := model.GetCommonOptions(&model.Options{}, options...); given.Tools != nil {
		infos = given.Tools
	}
	a := m.agent
	told := a.tellAll(input)
	err := a.peer.Call("model", modelParams{a.number, mode, ctxOf(ctx), told, infosOf(infos)}, into)
	if err == nil {
		a.knows(input, told)
	}
	return err
}
