package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/anthropic"
	"github.com/reins-agent/reins/llm/chat"
	"github.com/reins-agent/reins/llm/gemini"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/llm/openai"
	"github.com/reins-agent/reins/tool"
)

func clean(t testing.TB, text string) (string, error) {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	b, err := cleanSchema(v)
	return string(b), err
}

// usable are schemas from real servers, each with something that a provider or the validator refuses.
var usable = []struct{ name, in, want string }{
	{"no schema", `null`, `{"properties":{},"type":"object"}`},
	{"no properties", `{"type":"object"}`, `{"properties":{},"type":"object"}`},
	{"no type", `{"properties":{"a":{"type":"string"}}}`, `{"properties":{"a":{"type":"string"}},"type":"object"}`},
	{"unknown keywords", `{"$schema":"http://json-schema.org/draft-07/schema#","$id":"x","type":"object","properties":{"a":{"type":"string","x-order":1,"if":{},"nullable":true}}}`,
		`{"properties":{"a":{"type":"string"}},"type":"object"}`},
	{"reference", `{"type":"object","properties":{"a":{"$ref":"#/$defs/x","description":"mine"}},"$defs":{"x":{"type":"string","description":"its"}}}`,
		`{"properties":{"a":{"description":"mine","type":"string"}},"type":"object"}`},
	{"old reference", `{"type":"object","properties":{"a":{"$ref":"#/definitions/a~1b%20c"}},"definitions":{"a/b c":{"type":"integer"}}}`,
		`{"properties":{"a":{"type":"integer"}},"type":"object"}`},
	{"schema inside itself", `{"type":"object","properties":{"node":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}}}}}`,
		`{"properties":{"node":{"properties":{"next":{}},"type":"object"}},"type":"object"}`},
	{"endless cycle", `{"type":"object","allOf":[{"$ref":"#"}]}`, `{"properties":{},"type":"object"}`},
	{"alternatives at the root", `{"type":"object","properties":{"a":{}},"anyOf":[{"required":["a"]},{"properties":{"b":{"type":"string"}},"required":["b"]}]}`,
		`{"properties":{"a":{},"b":{"type":"string"}},"type":"object"}`},
	{"all of at the root", `{"allOf":[{"properties":{"a":{}},"required":["a"]},{"properties":{"b":{}}}],"required":["b","c"]}`,
		`{"properties":{"a":{},"b":{}},"required":["a","b"],"type":"object"}`},
	{"look-ahead", `{"properties":{"a":{"type":"string","pattern":"^(?!x)"},"b":{"pattern":"^x$"}}}`, `{"properties":{"a":{"type":"string"},"b":{"pattern":"^x$"}},"type":"object"}`},
	{"draft 4", `{"properties":{"a":{"type":"number","minimum":1,"exclusiveMinimum":true,"required":true}}}`, `{"properties":{"a":{"minimum":1,"type":"number"}},"type":"object"}`},
	{"list without items", `{"properties":{"a":{"type":"array"}}}`, `{"properties":{"a":{"items":{},"type":"array"}},"type":"object"}`},
	{"tuple", `{"properties":{"a":{"type":"array","items":[{"type":"string"},{"type":"number"}]}}}`,
		`{"properties":{"a":{"items":{"anyOf":[{"type":"string"},{"type":"number"}]},"type":"array"}},"type":"object"}`},
	{"types", `{"type":["object","null"],"properties":{"a":{"type":["string","null"]},"b":{"type":["STRING"]},"c":{"type":"any"},"d":true}}`,
		`{"properties":{"a":{"type":["string","null"]},"b":{"type":"string"},"c":{},"d":{}},"type":"object"}`},
	{"closed", `{"type":"object","properties":{"a":{"type":"object","additionalProperties":{"type":"string"}}},"additionalProperties":false}`,
		`{"additionalProperties":false,"properties":{"a":{"additionalProperties":{"type":"string"},"type":"object"}},"type":"object"}`},
}

func TestSchema_IsCleaned(t *testing.T) {
	for _, c := range usable {
		got, err := clean(t, c.in)
		if err != nil || got != c.want {
			t.Errorf("%s: got %s and the error %v, want %s", c.name, got, err, c.want)
		}
	}
}

func TestSchema_CleanedOnesAreAcceptedByAllProviders(t *testing.T) {
	dialects := []wire.Dialect{openai.NewDialect(openai.Config{}), anthropic.NewDialect(anthropic.Config{}), gemini.NewDialect(gemini.Config{}), chat.NewDialect(chat.Config{})}
	for _, c := range usable {
		schema, err := clean(t, c.in)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range dialects {
			call, err := d.Encode(&llm.Request{
				Model: "m", MaxTokens: 100, Messages: []llm.Message{llm.UserText("x")},
				Tools: []llm.ToolDef{{Name: ToolName("a", "b"), Parameters: json.RawMessage(schema)}},
			})
			if err == nil {
				err = llmtest.Validate(d.Name(), call.Body.Bytes())
			}
			if err != nil {
				t.Errorf("%s: %s refuses %s: %v", c.name, d.Name(), schema, err)
			}
		}
	}
}

func TestSchema_UnusableOnesAreRefused(t *testing.T) {
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, 40) + `{}` + strings.Repeat(`}}`, 40)
	bomb := `{"type":"object","$ref":"#/$defs/d0","$defs":{`
	for i := range 20 {
		bomb += `"d` + string(rune('0'+i)) + `":{"allOf":[{"$ref":"#/$defs/d` + string(rune('1'+i)) + `"},{"$ref":"#/$defs/d` + string(rune('1'+i)) + `","title":"x"}]},`
	}
	bomb += `"d` + string(rune('0'+20)) + `":{}}}`
	for name, c := range map[string]struct{ in, says string }{
		"text":              {`"string"`, "not an object"},
		"list":              {`[]`, "not an object"},
		"type":              {`{"type":"string"}`, "of type string"},
		"missing reference": {`{"properties":{"a":{"$ref":"#/$defs/x"}}}`, `"#/$defs/x"`},
		"remote reference":  {`{"properties":{"a":{"$ref":"https://example.com/x.json"}}}`, "example.com"},
		"file reference":    {`{"properties":{"a":{"$ref":"file:///etc/passwd"}}}`, "does not contain"},
		"deep":              {deep, "nested too deeply"},
		"bomb":              {bomb, "too large"},
		"huge":              {`{"properties":{"a":{"enum":["` + strings.Repeat("x", 70<<10) + `"]}}}`, "larger than 64 KiB"},
		"hidden characters": {`{"properties":{"a":{"description":"\udb40\udc41\udb40\udc42"}}}`, "invisible characters"},
		"name of argument":  {`{"properties":{"$filter":{}}}`, `"$filter"`},
	} {
		if got, err := clean(t, c.in); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %.100s and the error %v, want one with %q", name, got, err, c.says)
		}
	}
}

func FuzzSchema_CleanedOnesCanBeUsed(f *testing.F) {
	for _, c := range usable {
		f.Add([]byte(c.in), []byte(`{"a":[1,{"b":null}]}`))
	}
	f.Fuzz(func(t *testing.T, schema, args []byte) {
		var v any
		if json.Unmarshal(schema, &v) != nil {
			return
		}
		b, err := cleanSchema(v)
		if err != nil {
			return
		}
		var r tool.Registry
		if err := r.Register(tool.NewRaw(tool.Spec{Name: "x", Input: b}, nil, nil)); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		p := tool.Pipeline{Registry: &r}
		p.Check(t.Context(), tool.Call{Name: "x", Args: args}) // must return
		again, err := clean(t, string(b))
		if err != nil || again != string(b) {
			t.Fatalf("%s is cleaned to %s, %v", b, again, err)
		}
	})
}
