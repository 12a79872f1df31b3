package object_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"reflect"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/object"
)

type recipe struct {
	Name  string   `json:"name" jsonschema:"what the dish is called"`
	Steps []string `json:"steps"`
	Time  int      `json:"time,omitempty"`
}

// speaker is a provider that sends text in small pieces, or in a call to the tool "answer".
type speaker struct {
	text    string
	asTool  bool
	finish  llm.FinishReason
	before  []llm.StreamEvent
	err     error
	request *llm.Request
}

func (s *speaker) Name() string { return "speaker" }

func (s *speaker) Stream(_ context.Context, r *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	s.request = r
	return func(yield func(llm.StreamEvent, error) bool) {
		events := append([]llm.StreamEvent{llm.Start{}}, s.before...)
		resp := &llm.Response{Finish: llm.FinishInfo{Reason: s.finish}, Message: llm.AssistantText(s.text)}
		if s.asTool {
			resp.Message.Parts = []llm.Part{llm.ToolCall{ID: "1", Name: "answer", Arguments: s.text}}
			events = append(events, llm.ToolCallStart{Index: 3, ID: "1", Name: "answer"})
		}
		for i := 0; i < len(s.text); i += 3 {
			piece := s.text[i:min(i+3, len(s.text))]
			if s.asTool {
				events = append(events, llm.ToolCallDelta{Index: 3, Arguments: piece})
			} else {
				events = append(events, llm.TextDelta{Text: piece})
			}
		}
		for _, ev := range events {
			if !yield(ev, nil) {
				return
			}
		}
		if s.err != nil {
			yield(nil, s.err)
			return
		}
		yield(llm.Finish{Response: resp}, nil)
	}
}

func (s *speaker) client(t *testing.T) *llm.Client {
	t.Helper()
	if s.finish == "" {
		s.finish = llm.FinishStop
	}
	c, err := llm.NewClient(llm.ClientConfig{Providers: []llm.Provider{s}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var (
	soup     = recipe{Name: "Soup", Steps: []string{"boil", "eat"}}
	soupJSON = `{"name":"Soup","steps":["boil","eat"]}`
)

func TestGenerate_AnswerBecomesAValue(t *testing.T) {
	for name, text := range map[string]string{
		"plain":                 soupJSON,
		"with space":            "\n  " + soupJSON + " \n",
		"fenced":                "```json\n" + soupJSON + "\n```",
		"fenced, no language":   "```\n" + soupJSON + "\n```\n",
		"fenced behind a word":  "Here you are:\n\n```json\n" + soupJSON + "\n```",
		"fenced, end cut off":   "```json\n" + soupJSON,
		"fence within a string": `{"name":"Soup","steps":["boil","eat"]}`,
	} {
		s := &speaker{text: text}
		got, resp, err := object.Generate[recipe](t.Context(), s.client(t), &llm.Request{})
		if err != nil || !reflect.DeepEqual(got, soup) || resp.Text() != text {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestGenerate_ValueInAForcedToolCall(t *testing.T) {
	s := &speaker{text: soupJSON, asTool: true, finish: llm.FinishToolCalls}
	got, _, err := object.Generate[recipe](t.Context(), s.client(t), &llm.Request{})
	if err != nil || !reflect.DeepEqual(got, soup) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestGenerate_SendsTheTypesSchema(t *testing.T) {
	s := &speaker{text: soupJSON}
	req := &llm.Request{Model: "m", Output: &llm.OutputFormat{Name: "dish", Description: "a dish"}}
	if _, _, err := object.Generate[recipe](t.Context(), s.client(t), req); err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Type       string
		Properties map[string]struct{ Description string }
		Required   []string
	}
	if err := json.Unmarshal(s.request.Output.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	if schema.Type != "object" || len(schema.Properties) != 3 || !reflect.DeepEqual(schema.Required, []string{"name", "steps"}) {
		t.Errorf("the schema is %s", s.request.Output.Schema)
	}
	if schema.Properties["name"].Description != "what the dish is called" {
		t.Error("the description is lost")
	}
	if o := s.request.Output; o.Name != "dish" || o.Description != "a dish" || s.request.Model != "m" {
		t.Errorf("the caller's settings are lost: %+v", o)
	}
	if req.Output.Schema != nil || req.Output.Strict != nil {
		t.Error("the caller's request was changed")
	}
}

func TestGenerate_StrictOnlyWhereEveryMemberIsRequired(t *testing.T) {
	strict := func(c func(context.Context, *llm.Client, *llm.Request) error) bool {
		s := &speaker{text: "{}"}
		_ = c(t.Context(), s.client(t), &llm.Request{}) // the answer does not matter
		return *s.request.Output.Strict
	}
	if strict(generate[recipe]) {
		t.Error("a type with an optional member is sent as strict")
	}
	if !strict(generate[struct {
		A int `json:"a"`
		B []struct {
			C *string `json:"c"`
		} `json:"b"`
	}]) {
		t.Error("a type whose members are all required is not sent as strict")
	}
	if strict(generate[map[string]int]) || strict(generate[struct{ A any }]) {
		t.Error("a type with open members is sent as strict")
	}
}

func generate[T any](ctx context.Context, c *llm.Client, r *llm.Request) error {
	_, _, err := object.Generate[T](ctx, c, r)
	return err
}

func TestGenerate_OwnSchemaIsUsed(t *testing.T) {
	own := json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","maxLength":3}}}`)
	s := &speaker{text: soupJSON}
	_, _, err := object.Generate[recipe](t.Context(), s.client(t), &llm.Request{Output: &llm.OutputFormat{Schema: own}})
	if llm.KindOf(err) != llm.ErrNoObject {
		t.Errorf("the name is longer than the schema allows, yet the error is %v", err)
	}
	if string(s.request.Output.Schema) != string(own) {
		t.Errorf("sent was %s", s.request.Output.Schema)
	}
}

func TestGenerate_WrapsNonObjects(t *testing.T) {
	s := &speaker{text: `{"value":["a","b"]}`}
	list, _, err := object.Generate[[]string](t.Context(), s.client(t), &llm.Request{})
	if err != nil || !reflect.DeepEqual(list, []string{"a", "b"}) {
		t.Errorf("%v, %v", list, err)
	}
	s = &speaker{text: `{"value":7}`}
	if n, _, err := object.Generate[int](t.Context(), s.client(t), &llm.Request{}); err != nil || n != 7 {
		t.Errorf("%v, %v", n, err)
	}
	if !strings.Contains(string(s.request.Output.Schema), `"object"`) {
		t.Errorf("the root of %s is no object", s.request.Output.Schema)
	}
}

func TestGenerate_InvalidAnswersAreTypedErrors(t *testing.T) {
	for name, tt := range map[string]struct{ text, says string }{
		"nothing":        {"", "empty"},
		"prose":          {"I cannot do that.", "not JSON"},
		"cut off":        {`{"name":"Soup","steps":["bo`, "not JSON"},
		"missing member": {`{"name":"Soup"}`, "steps"},
		"wrong type":     {`{"name":5,"steps":[]}`, "name"},
		"extra member":   {`{"name":"Soup","steps":[],"chef":"me"}`, "chef"},
		"two values":     {soupJSON + soupJSON, "not JSON"},
		"a list":         {`[]`, "schema"},
		"empty fence":    {"```json\n```", "empty"},
	} {
		s := &speaker{text: tt.text}
		got, resp, err := object.Generate[recipe](t.Context(), s.client(t), &llm.Request{})
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != llm.ErrNoObject || !strings.Contains(e.Message, tt.says) {
			t.Errorf("%s: the error is %v, want it to say %q", name, err, tt.says)
			continue
		}
		if string(e.Body) != tt.text || resp == nil || !reflect.DeepEqual(got, recipe{}) {
			t.Errorf("%s: body %q, response %v, value %+v", name, e.Body, resp, got)
		}
	}
}

func TestGenerate_TypeWithoutASchemaIsAConfigurationError(t *testing.T) {
	s := &speaker{text: soupJSON}
	if err := generate[chan int](t.Context(), s.client(t), &llm.Request{}); llm.KindOf(err) != llm.ErrConfiguration {
		t.Errorf("the error is %v", err)
	}
	if s.request != nil {
		t.Error("a call was made all the same")
	}
}

func TestGenerate_FailedCallKeepsItsError(t *testing.T) {
	s := &speaker{err: &llm.Error{Kind: llm.ErrServer}}
	if err := generate[recipe](t.Context(), s.client(t), &llm.Request{}); llm.KindOf(err) != llm.ErrServer {
		t.Errorf("the error is %v", err)
	}
}

// The adapter decides how a schema is requested: models that always think would refuse a tool choice set here.
func TestGenerate_LeavesToolsAndChoiceToTheCaller(t *testing.T) {
	for _, choice := range []llm.ToolChoice{{}, {Mode: llm.ToolAuto}} {
		s := &speaker{text: `{"name":"soup","steps":[]}`, finish: llm.FinishStop}
		if _, _, err := object.Generate[recipe](t.Context(), s.client(t), &llm.Request{Model: "m", ToolChoice: choice}); err != nil {
			t.Fatal(err)
		}
		if s.request.ToolChoice != choice || len(s.request.Tools) != 0 || s.request.Output == nil {
			t.Errorf("%+v: the request has the choice %+v and %d tools", choice, s.request.ToolChoice, len(s.request.Tools))
		}
	}
}
