package mcp

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzShallow checks that messages stay unchanged unless they are nested too deeply, and that JSON stays JSON.
func FuzzShallow(f *testing.F) {
	f.Add(`{"a":"]\"}[","b":[{}]}`, 3)
	f.Add(`{"a":"{{{\\"}`, 1000)
	f.Add(`"[`, 499)
	f.Fuzz(func(t *testing.T, text string, depth int) {
		depth = max(0, min(depth, 2000))
		in := strings.Repeat(`{"x":[`, depth) + text + strings.Repeat("]}", depth)
		var s shallow
		half := len(in) / 2
		out := string(s.cut([]byte(in[:half]))) + string(s.cut([]byte(in[half:])))
		if most := 2*depth + strings.Count(text, "{") + strings.Count(text, "["); most <= maxNesting && out != in {
			t.Errorf("%q became %q", in, out)
		}
		if json.Valid([]byte(in)) && !json.Valid([]byte(out)) {
			t.Errorf("%q became %q, which is not JSON", in, out)
		}
	})
}
