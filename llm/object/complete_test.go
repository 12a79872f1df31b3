package object

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestComplete(t *testing.T) {
	tests := []struct{ in, want string }{
		{`{`, `{}`},
		{`{ `, `{ }`},
		{`[`, `[]`},
		{`{"`, `{}`},
		{`{"na`, `{}`},
		{`{"name"`, `{}`},
		{`{"name":`, `{}`},
		{`{"name":"`, `{"name":""}`},
		{`{"name":"Ad`, `{"name":"Ad"}`},
		{`{"name":"Ada"`, `{"name":"Ada"}`},
		{`{"name":"Ada",`, `{"name":"Ada"}`},
		{`{"name":"Ada","a`, `{"name":"Ada"}`},
		{`{"a":1`, `{}`},
		{`{"a":1,`, `{"a":1}`},
		{`{"a":-1.5e3}`, `{"a":-1.5e3}`},
		{`{"a":tr`, `{}`},
		{`{"a":true`, `{"a":true}`},
		{`{"a":null,"b":fal`, `{"a":null}`},
		{`{"a":[1,2`, `{"a":[1]}`},
		{`{"a":[1,2]`, `{"a":[1,2]}`},
		{`{"a":[{"b":"c`, `{"a":[{"b":"c"}]}`},
		{`{"a":[{"b":"c"},{`, `{"a":[{"b":"c"},{}]}`},
		{`{"a":[],"b":{}`, `{"a":[],"b":{}}`},
		{`{"a":"x\`, `{"a":"x"}`},
		{`{"a":"x\n`, `{"a":"x\n"}`},
		{`{"a":"x\u00`, `{"a":"x"}`},
		{`{"a":"x\u00e9`, `{"a":"x\u00e9"}`},
		{`{"a":"x\ud83d`, `{"a":"x"}`},
		{`{"a":"x\ud83d\ude`, `{"a":"x"}`},
		{`{"a":"x\ud83d\ude00`, `{"a":"x\ud83d\ude00"}`},
		{`{"a":"x\ud83dy`, `{"a":"x\ud83dy"}`},
		{"{\"a\":\"x\xf0\x9f", `{"a":"x"}`},
		{"{\"a\":\"é", `{"a":"é"}`},
		{`{"a":1} and more`, `{"a":1}`},
		{`{"a":1 "b"`, `{"a":1}`},
		{`{"a":01,`, `{}`},
		{`{"a":"b" nonsense`, `{"a":"b"}`},
		{``, ``}, {`12`, ``}, {`"x`, ``}, {`hello`, ``}, {`}`, ``},
	}
	for _, tt := range tests {
		got, ok := complete(tt.in)
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("complete(%q) = %q, %v; want %q", tt.in, got, ok, tt.want)
		}
	}
}

func TestComplete_DepthIsBounded(t *testing.T) {
	if got, ok := complete(strings.Repeat("[", 1_000_000)); ok {
		t.Errorf("a million brackets were completed to %d bytes", len(got))
	}
	if _, ok := complete(strings.Repeat("[", maxDepth)); !ok {
		t.Error("the allowed depth is refused")
	}
}

// FuzzComplete checks that the result is JSON, and that a whole object is not changed.
func FuzzComplete(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2.5e+7,{"b":"c\"\\\u00e9\ud83d\ude00"},true,null],"ü":{}}`, "[\"\xf0\x9f\"]", `{"a" : tru`, `[[[`, `{"a":1}x`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out, ok := complete(in)
		if ok && !json.Valid([]byte(out)) {
			t.Fatalf("complete(%q) = %q, which is not JSON", in, out)
		}
		var whole any
		if json.Unmarshal([]byte(in), &whole) != nil || in == "" || in[0] != '{' && in[0] != '[' || strings.Count(in, "[")+strings.Count(in, "{") > maxDepth {
			return
		}
		var got any
		if !ok || json.Unmarshal([]byte(out), &got) != nil || !reflect.DeepEqual(got, whole) {
			t.Fatalf("the whole object %q became %q", in, out)
		}
		last := 0
		for i := range len(in) {
			out, ok := complete(in[:i])
			if !ok {
				continue
			}
			if !json.Valid([]byte(out)) {
				t.Fatalf("the prefix %q became %q, which is not JSON", in[:i], out)
			}
			if kept := commonPrefix(out, in); kept < last {
				t.Fatalf("the prefix %q shows less than a shorter one", in[:i])
			} else {
				last = kept
			}
		}
	})
}

func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
