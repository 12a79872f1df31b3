package llm

import (
	"encoding/json"
	"strings"
	"testing"
)

func named(names ...string) []ToolDef {
	var tools []ToolDef
	for _, n := range names {
		tools = append(tools, ToolDef{Name: n})
	}
	return tools
}

func names(tools []ToolDef) string {
	var all []string
	for _, t := range tools {
		all = append(all, t.Name+t.Description)
	}
	return strings.Join(all, " ")
}

func TestBaseTools_UndoesTheChangesFromLastToFirst(t *testing.T) {
	change := func(add []ToolDef, remove ...RemovedTool) ToolChange { return ToolChange{Add: add, Remove: remove} }
	removed := func(at int, name string) RemovedTool { return RemovedTool{at, ToolDef{Name: name}} }
	for name, test := range map[string]struct {
		now     []ToolDef
		changes []ToolChange
		base    string
		ok      bool
	}{
		"no changes":             {named("a", "b"), nil, "a b", true},
		"one added":              {named("a", "b"), []ToolChange{change(named("b"))}, "a", true},
		"all added":              {named("a", "b"), []ToolChange{change(named("a", "b"))}, "", true},
		"one removed":            {named("a", "c"), []ToolChange{change(nil, removed(1, "b"))}, "a b c", true},
		"several removed":        {named("c"), []ToolChange{change(nil, removed(3, "d"), removed(0, "a"), removed(1, "b"))}, "a b c d", true},
		"removed after added":    {named("a"), []ToolChange{change(named("b")), change(nil, removed(1, "b"))}, "a", true},
		"added after removed":    {named("a", "b"), []ToolChange{change(nil, removed(0, "b")), change(named("b"))}, "b a", true},
		"replaced":               {[]ToolDef{{Name: "a", Description: "2"}}, []ToolChange{change([]ToolDef{{Name: "a", Description: "2"}}, removed(0, "a"))}, "a", true},
		"added is missing":       {named("a"), []ToolChange{change(named("b"))}, "a", false},
		"added differs":          {[]ToolDef{{Name: "a", Description: "2"}}, []ToolChange{change(named("a"))}, "a2", false},
		"removed is present":     {named("a", "b"), []ToolChange{change(nil, removed(1, "b"))}, "a b", false},
		"removed beyond the end": {named("a"), []ToolChange{change(nil, removed(2, "b"))}, "a", false},
		"removed before start":   {named("a"), []ToolChange{change(nil, removed(-1, "b"))}, "a", false},
		"only the last fits":     {named("a", "b"), []ToolChange{change(named("x")), change(named("b"))}, "a b", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Request{Tools: test.now, Messages: []Message{UserText("hi")}}
			for _, c := range test.changes {
				r.Messages = append(r.Messages, Message{RoleSystem, []Part{Text{Text: "changed"}, c}})
			}
			before := names(r.Tools)
			base, ok := BaseTools(r)
			if names(base) != test.base || ok != test.ok {
				t.Errorf("got %q, %t, want %q, %t", names(base), ok, test.base, test.ok)
			}
			if names(r.Tools) != before {
				t.Errorf("the tools of the request changed from %q to %q", before, names(r.Tools))
			}
		})
	}
}

func TestBaseTools_RecognizesAToolThatWasStored(t *testing.T) {
	tool := ToolDef{Name: "b", Parameters: json.RawMessage("{ \"description\": \"a < b\" }"), Strict: new(bool)}
	data, err := json.Marshal(Message{RoleSystem, []Part{ToolChange{Add: []ToolDef{tool}}}})
	if err != nil {
		t.Fatal(err)
	}
	var stored Message
	if err := json.Unmarshal(data, &stored); err != nil {
		t.Fatal(err)
	}
	base, ok := BaseTools(&Request{Tools: []ToolDef{{Name: "a"}, tool}, Messages: []Message{stored}})
	if names(base) != "a" || !ok {
		t.Errorf("got %q, %t, want \"a\", true", names(base), ok)
	}
}
