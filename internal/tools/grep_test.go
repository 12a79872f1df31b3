//go:build unix

package tools_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/tool"
)

func TestGrep_ModesAndOptions(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.write("a.go", "package a\n\nfunc Foo() {\n\treturn f(x)\n}\n")
	r.write("sub/b.py", "def foo():\r\n    pass\r\ndef foo2():\r\n")
	r.write(".hidden", "foo\n")
	r.write("bin", "foo\x00\n")
	for _, c := range []struct {
		args args
		want string
	}{
		{args{"pattern": "foo"}, "sub/b.py:1:def foo():\nsub/b.py:3:def foo2():\n"},
		{args{"pattern": "foo", "case_insensitive": true, "glob_filter": "*.go"}, "a.go:3:func Foo() {\n"},
		{args{"pattern": "foo", "type": "py", "output_mode": "count"}, "sub/b.py:2\n"},
		{args{"pattern": "(?i)foo", "output_mode": "files_with_matches"}, "a.go\nsub/b.py\n"},
		{args{"pattern": "f(x)", "literal": true}, "a.go:4:\treturn f(x)\n"},
		{args{"pattern": "pass", "context": 1}, "sub/b.py-1-def foo():\nsub/b.py:2:    pass\nsub/b.py-3-def foo2():\n"},
		{args{"pattern": "package|}", "after": 1}, "a.go:1:package a\na.go-2-\n--\na.go:5:}\n"},
		{args{"pattern": `Foo\(\) \{\s+return`, "multiline": true}, "a.go:3:func Foo() {\na.go:4:\treturn f(x)\n"},
		{args{"pattern": "foo", "path": "sub/b.py", "max_results": 1}, "sub/b.py:1:def foo():\n[The results are incomplete: result limit reached. Narrow the search to see the rest.]\n"},
		{args{"pattern": "nothing"}, "No matches found.\n"},
	} {
		if got := r.ok("grep", c.args); got != c.want {
			t.Errorf("%v: got %q, want %q", c.args, got, c.want)
		}
	}
	out := r.run("grep", args{"pattern": "foo"})
	if f := out.Result.Fields; f["matches"] != 2 || f["files"] != 1 || f["partial"] != false {
		t.Errorf("%v", f)
	}
}

func TestGrep_BadArgumentsAreExplained(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.fails(tool.InvalidPattern, "grep", args{"pattern": "f("}, `f(`, "literal")
	r.fails(tool.InvalidPattern, "grep", args{"pattern": "x", "glob_filter": "["})
	r.fails(tool.InvalidPattern, "grep", args{"pattern": "x", "type": "klingon"}, "klingon")
	r.fails(tool.ValidationError, "grep", args{"pattern": "x", "output_mode": "lines"}, "files_with_matches")
	r.fails(tool.ValidationError, "grep", args{"pattern": "x", "before": -1}, "negative")
	r.fails(tool.FileNotFound, "grep", args{"pattern": "x", "path": "nothing"})
	r.fails(tool.NotAFile, "grep", args{"pattern": "x", "path": "/dev/zero"})
}

func TestGrep_DefaultIsAHundredResults(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.write("f", strings.Repeat("x\n", 150))
	if out := r.run("grep", args{"pattern": "x"}); out.Result.Fields["matches"] != 100 || out.Result.Fields["partial"] != true {
		t.Errorf("%v", out.Result.Fields)
	}
}

func TestGrep_OutputIsBoundedWhateverIsAskedFor(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.write("long", strings.Repeat("x", 10<<20))
	if got := r.ok("grep", args{"pattern": "x"}); len(got) > 2100 || !strings.Contains(got, "[line truncated]") {
		t.Errorf("a line of 10 MB gives %d bytes", len(got))
	}
	for i := range 20 {
		r.write(fmt.Sprintf("many%d", i), strings.Repeat("yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\n", 20_000))
	}
	out := r.run("grep", args{"pattern": "y", "max_results": int64(1) << 62, "context": int64(1) << 62})
	if !out.OK() || out.Result.Output.Len() > 8<<20 || out.Result.Fields["partial"] != true {
		t.Errorf("%d bytes, %v", out.Result.Output.Len(), out.Result.Fields)
	}
}

func TestGrep_LinksOutOfTheTreeAreDeclaredAndNotFollowed(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.write("secret/key", "hidden treasure\n")
	r.write("w/f", "x\n")
	r.link("../secret", "w/dir")
	r.link("../secret/key", "w/file")
	if got := r.ok("grep", args{"pattern": "treasure", "path": "w"}); got != "No matches found.\n" {
		t.Errorf("got %q", got)
	}
	r.declares("grep", args{"pattern": "x", "path": "w/dir"}, "read "+r.path("secret"))
	r.declares("grep", args{"pattern": "x", "path": "w/file"}, "read "+r.path("secret/key"))
	r.declares("grep", args{"pattern": "x"}, "read "+r.dir)
}
