package object_test

import (
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm/object"
)

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
