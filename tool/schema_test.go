package tool

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
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
	if schema := string(schemaFor("t", reflect.TypeFor[in]())); strings.Contains(schema, "null") {
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

// A type's schema is what the JSON Schema library encodes, with and without keywords that we encode ourselves.
func TestSchemaFor_EncodesAsTheLibrary(t *testing.T) {
	type item struct {
		Name  string   `json:"name" jsonschema:"a name with \"quotes\", <tags> & more"`
		Lines []int    `json:"lines,omitempty" jsonschema:"their numbers"`
		Share *float64 `json:"share,omitempty"`
	}
	type plain struct {
		Items []item `json:"items" jsonschema:"all of them"`
		One   item   `json:"one,omitempty"`
		Deep  [][]string
		On    bool `json:"on,omitempty"`
	}
	type other struct {
		Items  []item         `json:"items"`
		Values map[string]int `json:"values"`
		Any    any            `json:"any,omitempty"`
		Time   time.Time      `json:"time"`
	}
	checkSchema[plain](t, true)
	checkSchema[struct{}](t, true)
	checkSchema[other](t, false)
}

func checkSchema[T any](t *testing.T, direct bool) {
	t.Helper()
	s, err := jsonschema.For[T](nil)
	if err != nil {
		t.Fatal(err)
	}
	withoutNull(s)
	want, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := appendSchema(nil, s); ok != direct {
		t.Errorf("encoded directly: %v, want %v", ok, direct)
	}
	if got := schemaFor("t", reflect.TypeFor[T]()); string(got) != string(want) {
		t.Errorf("schema\n%s, want\n%s", got, want)
	}
}
