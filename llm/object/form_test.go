package object_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/object"
)

func formOf[T any](t *testing.T) *object.Form {
	t.Helper()
	f, err := object.FormOf[T]()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestForm_AnswersInEveryShapeAreRead(t *testing.T) {
	f := formOf[recipe](t)
	for name, msg := range map[string]llm.Message{
		"text":                  llm.AssistantText(soupJSON),
		"with space around it":  llm.AssistantText("\n  " + soupJSON + "\n"),
		"in a code block":       llm.AssistantText("Here it is:\n```json\n" + soupJSON + "\n```\nEnjoy."),
		"in an open code block": llm.AssistantText("```\n" + soupJSON),
		"as a call":             {Role: llm.RoleAssistant, Parts: []llm.Part{llm.ToolCall{Name: "other", Arguments: "{}"}, llm.ToolCall{Name: "answer", Arguments: soupJSON}}},
		"behind thinking":       {Role: llm.RoleAssistant, Parts: []llm.Part{llm.Thinking{Text: "{"}, llm.Text{Text: soupJSON}}},
	} {
		text := f.Extract(msg)
		if err := f.Check(text); err != nil {
			t.Errorf("%s: %q: %v", name, text, err)
		}
		var got recipe
		if err := f.Decode(text, &got); err != nil || !reflect.DeepEqual(got, soup) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if text := f.Extract(llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.ToolCall{Name: "other", Arguments: soupJSON}}}); text != "" {
		t.Errorf("the arguments of another tool are taken for the answer: %q", text)
	}
}

func TestForm_ErrorsNameTheMismatch(t *testing.T) {
	f := formOf[recipe](t)
	for text, says := range map[string]string{
		"":                         "empty",
		"soup":                     "not JSON",
		`{"name":"Soup"}`:          "steps",
		`{"name":3,"steps":["x"]}`: "schema",
		`[]`:                       "schema",
	} {
		err := f.Check(text)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want it to say %q", text, err, says)
			continue
		}
		if repair := f.Repair(err); !strings.Contains(repair, err.Error()) {
			t.Errorf("the model is told %q", repair)
		}
		var value recipe
		if f.Decode(text, &value) == nil {
			t.Errorf("%q is decoded to %+v", text, value)
		}
	}
	var small struct {
		Time int8 `json:"time"`
	}
	if err := formOf[struct{ Time int }](t).Decode(`{"Time":1000}`, &small); err == nil || !strings.Contains(err.Error(), "type") {
		t.Errorf("a value that does not fit the type: %v", err)
	}
}

func TestForm_OtherTypesAreWrappedInAnObject(t *testing.T) {
	f := formOf[[]string](t)
	var schema struct{ Type string }
	if err := json.Unmarshal(f.Output().Schema, &schema); err != nil || schema.Type != "object" {
		t.Errorf("the schema is %s", f.Output().Schema)
	}
	var got []string
	if err := f.Decode(`{"value":["a","b"]}`, &got); err != nil || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestForm_StrictWhereTheSchemaAllowsIt(t *testing.T) {
	type closed struct {
		Name string `json:"name"`
	}
	no := false
	for name, tt := range map[string]struct {
		output llm.OutputFormat
		want   bool
	}{
		"closed object":   {formOf[closed](t).Output(), true},
		"wrapped number":  {formOf[int](t).Output(), true},
		"optional member": {formOf[recipe](t).Output(), false},
		"switched off":    {llm.OutputFormat{Schema: formOf[closed](t).Output().Schema, Strict: &no}, false},
		"open object":     {llm.OutputFormat{Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`)}, false},
	} {
		f, err := object.ParseForm(tt.output)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if out := f.Output(); out.Strict == nil || *out.Strict != tt.want || out.Name != "answer" {
			t.Errorf("%s: the output is %+v, strict %v", name, out, out.Strict)
		}
	}
}

// A form from a record reads answers like the original.
func TestForm_SurvivesBeingRecorded(t *testing.T) {
	f := formOf[recipe](t)
	record, err := json.Marshal(f.Output())
	if err != nil {
		t.Fatal(err)
	}
	var output llm.OutputFormat
	if err := json.Unmarshal(record, &output); err != nil {
		t.Fatal(err)
	}
	again, err := object.ParseForm(output)
	if err != nil {
		t.Fatal(err)
	}
	if again.Ask() != f.Ask() || !strings.Contains(f.Ask(), string(f.Output().Schema)) {
		t.Errorf("%q is asked instead of %q", again.Ask(), f.Ask())
	}
	for _, text := range []string{soupJSON, `{"name":"Soup"}`, "x", ""} {
		a, b := f.Check(text), again.Check(text)
		if (a == nil) != (b == nil) || a != nil && a.Error() != b.Error() {
			t.Errorf("%q: %v before, %v after", text, a, b)
		}
	}
}

func TestForm_WithoutASchemaAnyObjectWillDo(t *testing.T) {
	f, err := object.ParseForm(llm.OutputFormat{})
	if err != nil {
		t.Fatal(err)
	}
	if f.Check(`{"a":1}`) != nil || f.Check(`[1]`) == nil || f.Output().Strict != nil {
		t.Error("an object is refused, or a list is not")
	}
	for _, schema := range []string{`{"type":5}`, `no`, `{"$ref":"http://example.org/x.json"}`} {
		if _, err := object.ParseForm(llm.OutputFormat{Schema: json.RawMessage(schema)}); llm.KindOf(err) != llm.ErrConfiguration {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

func TestForm_ListsAreArraysAndNotNull(t *testing.T) {
	form, err := object.FormOf[struct {
		Names []string `json:"names"`
		Note  *string  `json:"note"`
	}]()
	if err != nil {
		t.Fatal(err)
	}
	schema := string(form.Output().Schema)
	if !strings.Contains(schema, `"type":"array"`) || strings.Contains(schema, `["null","array"]`) || !strings.Contains(schema, `["null","string"]`) {
		t.Error(schema)
	}
	if form.Check(`{"names":null,"note":null}`) == nil || form.Check(`{"names":[],"note":null}`) != nil {
		t.Error("a list may be null, or an empty one may not be")
	}
}
