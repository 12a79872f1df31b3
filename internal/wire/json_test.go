package wire_test

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/wire"
)

const document = ` {"s": "a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00ü", "n": -12.5e1, "i": 9007199254740993, "t": true, "f": false,
	"z": null, "o": {"k": {"deep": [1, [2, {"x": "y"}], ""]}}, "e": {}, "a": [ ], "\u006bey": 1, "dup": 1, "dup": 2} `

func parse(t *testing.T, s string) wire.Value {
	t.Helper()
	v, err := wire.ParseJSON([]byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestValue_Navigation(t *testing.T) {
	v := parse(t, document)
	if got := v.Get("s").Str(); got != "a\"\\/\b\f\n\r\té😀ü" {
		t.Errorf("s is %q", got)
	}
	if got := v.Get("n").Float(); got != -125 {
		t.Errorf("n is %v", got)
	}
	if got := v.Get("n").Int(); got != -125 {
		t.Errorf("n is %v as an integer", got)
	}
	if got := v.Get("i").Int(); got != 9007199254740993 {
		t.Errorf("i is %v", got)
	}
	if !v.Get("t").Bool() || v.Get("f").Bool() || v.Get("z").Bool() {
		t.Error("Bool is wrong")
	}
	if v.Get("z").Exists() || !v.Get("f").Exists() || v.Get("none").Exists() {
		t.Error("Exists is wrong")
	}
	if got := string(v.Get("o", "k", "deep")); got != `[1, [2, {"x": "y"}], ""]` {
		t.Errorf("deep is %s", got)
	}
	if got := v.Get("key").Int(); got != 1 {
		t.Error("a key with an escape in it is not found")
	}
	if got := v.Get("dup").Int(); got != 2 {
		t.Errorf("of two members with one name the first was read: %d", got)
	}
	n := 0
	for it := v.Get("o", "k", "deep").Elements(); it.Next(); {
		n++
	}
	if n != 3 {
		t.Errorf("the array has %d elements", n)
	}
}

func TestValue_OtherTypesReadAsAbsent(t *testing.T) {
	for _, s := range []string{`{}`, `[]`, `"x"`, `1`, `true`, `null`} {
		v := parse(t, s)
		if v.Kind() != '"' && v.Str() != "" || v.Kind() != '0' && v.Float() != 0 || v.Kind() != 't' && v.Bool() {
			t.Errorf("%s is read as something else", s)
		}
		if v.Get("a", "b") != nil {
			t.Errorf("%s has members", s)
		}
		for it := v.Elements(); it.Next(); {
			t.Errorf("%s has elements", s)
		}
	}
	var none wire.Value
	if none.Kind() != 0 || none.Str() != "" || none.Int() != 0 || none.Exists() || none.Get("x") != nil {
		t.Error("nil is not read as absent")
	}
}

func TestValue_IntFromOddNumbers(t *testing.T) {
	for s, want := range map[string]int64{
		`"42"`: 42, `1.9`: 1, `-1.9`: -1, `1e3`: 1000, `"x"`: 0, `9223372036854775807`: math.MaxInt64,
		`1e400`: 1 << 62, `-1e400`: -1 << 62, `99999999999999999999`: 1 << 62,
	} {
		if got := parse(t, s).Int(); got != want {
			t.Errorf("%s is %d, want %d", s, got, want)
		}
	}
}

func TestValue_Is(t *testing.T) {
	for s, want := range map[string]bool{`"stop"`: true, `"st\u006fp"`: true, `"stop "`: false, `"sto"`: false, `stop`: false, ``: false, `123456`: false} {
		if got := wire.Value(s).Is("stop"); got != want {
			t.Errorf("%s is stop: %v", s, got)
		}
	}
}

func TestParseJSON_ErrorsNameThePlace(t *testing.T) {
	for s, says := range map[string]string{
		`{"a":1,}`:    "byte 7",
		`{"a" 1}`:     "byte 5",
		`[1 2]`:       "byte 3",
		`{"a":tru}`:   "byte 5",
		`{"a":"b`:     "end at byte 7",
		``:            "end at byte 0",
		`[1] x`:       "after the value",
		`"\x"`:        "escape",
		"\"\n\"":      "control",
		`01`:          "byte 0",
		`1.`:          "point",
		`[1e]`:        "exponent",
		`{1:2}`:       "name",
		`[}`:          "byte 1",
		"\ufeff{}":    "byte 0",
		`"\u12`:       "unexpected end",
		`{"a":1}{}`:   "after the value",
		`nul`:         "literal",
		`[1,2,"\u{"]`: "escape",
	} {
		_, err := wire.ParseJSON([]byte(s))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got %v, want an error that says %q", s, err, says)
		}
	}
}

func TestParseJSON_DepthIsBounded(t *testing.T) {
	if _, err := wire.ParseJSON([]byte(strings.Repeat("[", 10_000_000))); err == nil || !strings.Contains(err.Error(), "nested") {
		t.Errorf("the error is %v", err)
	}
	if _, err := wire.ParseJSON([]byte(strings.Repeat("[", 1000) + strings.Repeat("]", 1000))); err != nil {
		t.Error(err)
	}
}

// rebuild builds the tree of encoding/json from a Value.
func rebuild(v wire.Value) any {
	switch v.Kind() {
	case '{':
		m := map[string]any{}
		for it := v.Members(); it.Next(); {
			m[string(it.Key)] = rebuild(it.Value)
		}
		return m
	case '[':
		a := []any{}
		for it := v.Elements(); it.Next(); {
			a = append(a, rebuild(it.Value))
		}
		return a
	case '"':
		return v.Str()
	case '0':
		return json.Number(v)
	case 't', 'f':
		return v.Bool()
	}
	return nil
}

func depth(data []byte) int { return bytes.Count(data, []byte("[")) + bytes.Count(data, []byte("{")) }

// FuzzJSON compares with encoding/json.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{document, `[]`, `-0.0e-5`, `"\ud800"`, "\"\xff\"", `{"a":{"a":[{}]}}`, `[1,2`, `"\ud83dA\ude00"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := wire.ParseJSON(data)
		if depth(data) < 1000 && (err == nil) != json.Valid(data) {
			t.Fatalf("%q: the error is %v, encoding/json says %v", data, err, json.Valid(data))
		}
		if err != nil {
			if len(data) < 1000 {
				rebuild(wire.Value(data)) // must not panic
			}
			return
		}
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		var want any
		if err := dec.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if got := rebuild(v); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q reads as %#v, want %#v", data, got, want)
		}
	})
}
