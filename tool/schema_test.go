package tool

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestNew_SlicesAndPointersAreNeverNullInTheSchema(t *testing.T) {
	type inner struct {
		List  []string         `json:"list"`
		Map   map[string][]int `json:"map"`
		Point *struct {
			List []int `json:"list"`
		} `json:"point"`
	}
	type in struct {
		List   []string         `json:"list"`
		Lists  [][]inner        `json:"lists"`
		Values map[string]inner `json:"values"`
	}
	if schema := string(schemaFor[in]("t")); strings.Contains(schema, "null") {
		t.Errorf("the schema allows null: %s", schema)
	}
}

func TestRegister_SchemaOfATypeIsCompiledWhenItIsUsed(t *testing.T) {
	type in struct {
		Only string `json:"only_this_test_has_it"`
	}
	r := &Registry{}
	if err := r.Register(New[in](Spec{Name: "typed"}, nil, nil)); err != nil {
		t.Fatal(err)
	}
	c := r.tools["typed"].check
	if c.resolved != nil {
		t.Error("registering compiled the schema, which is slow")
	}
	if err := c.check(json.RawMessage(`{"only_this_test_has_it":1}`)); err == nil || c.resolved == nil {
		t.Errorf("the error is %v, compiled: %t", err, c.resolved != nil)
	}
}

func TestRegister_RefusesATypeThatIsNotAnObject(t *testing.T) {
	r := &Registry{}
	for _, tool := range []Tool{New[string](Spec{Name: "text"}, nil, nil), New[time.Time](Spec{Name: "time"}, nil, nil)} {
		if err := r.Register(tool); err == nil || !strings.Contains(err.Error(), "must be \"object\"") {
			t.Errorf("%s: the error is %v", tool.Spec().Name, err)
		}
	}
}

func TestCheck_EnumOfListsDoesNotPanic(t *testing.T) {
	c := checkerFor(json.RawMessage(`{"type":"object","properties":{"a":{"enum":[[1,2],{"x":1}]}}}`))
	for args, valid := range map[string]bool{`{"a":[1,2]}`: true, `{"a":{"x":1}}`: true, `{"a":[1]}`: false, `{"a":{}}`: false} {
		if err := c.check(json.RawMessage(args)); (err == nil) != valid {
			t.Errorf("%s: got %v, want valid %v", args, err, valid)
		}
	}
}
