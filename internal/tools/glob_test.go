//go:build unix

package tools_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/internal/gitdir/gitdirtest"
	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/tool"
)

func TestGlob_ListsMatchesNewestFirst(t *testing.T) {
	r := newRig(t, tools.Config{})
	for i, name := range []string{"old.go", "sub/mid.go", "new.go", "x.txt", ".hidden.go", "ignored.go"} {
		r.write(name, "")
		at := time.Unix(1_700_000_000+int64(i), 0)
		if err := os.Chtimes(r.path(name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	r.write(".gitignore", "ignored.go\n")
	gitdirtest.Init(t, r.dir)
	for _, c := range []struct {
		args args
		want string
	}{
		{args{"pattern": "**/*.go"}, "new.go\nsub/mid.go\nold.go\n"},
		{args{"pattern": "*.{go,txt}"}, "x.txt\nnew.go\nold.go\n"},
		{args{"pattern": "*.go", "path": "sub"}, "sub/mid.go\n"},
		{args{"pattern": "sub/*.go"}, "sub/mid.go\n"},
		{args{"pattern": r.path("sub") + "/*"}, r.path("sub/mid.go") + "\n"},
		{args{"pattern": ".*.go"}, ".hidden.go\n"},
		{args{"pattern": "*.rs"}, "No files found.\n"},
		{args{"pattern": "**/*.go", "limit": 1}, "new.go\n[The results are incomplete: result limit reached. Narrow the search to see the rest.]\n"},
	} {
		if got := r.ok("glob", c.args); got != c.want {
			t.Errorf("%v: got %q, want %q", c.args, got, c.want)
		}
	}
	r.fails(tool.InvalidPattern, "glob", args{"pattern": "[a"}, `"[a"`)
	r.fails(tool.InvalidPattern, "glob", args{"pattern": "{a"})
	r.fails(tool.ValidationError, "glob", args{"pattern": ""})
	r.fails(tool.ValidationError, "glob", args{"pattern": "*", "limit": -1})
	r.fails(tool.FileNotFound, "glob", args{"pattern": "*", "path": "nothing"})
	r.fails(tool.NotADirectory, "glob", args{"pattern": "*", "path": "x.txt"})
}

// The start of a pattern decides which directory is searched and declared.
func TestGlob_DeclaresWhereItLooks(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.write("d/f", "")
	r.link("/etc", "etc")
	up := r.dir[:strings.LastIndex(r.dir, "/")]
	for pattern, want := range map[string]string{
		"*": r.dir, "**/*.go": r.dir, "d/*": r.path("d"), "d/f": r.path("d"), "/etc/*": "/etc", "etc/*": "/etc", "etc/ssl/**/x*": "/etc/ssl",
		"../*": up, "d/../../*": up, "d/[a]/../*": r.path("d"), "{etc,d}/*": r.dir, "d*/../../x": r.dir, `\etc/*`: r.dir, "/*": "/",
	} {
		r.declares("glob", args{"pattern": pattern}, "read "+want)
	}
	r.declares("glob", args{"pattern": "x/*", "path": "etc"}, "read /etc/x")
	r.declares("glob", args{"pattern": "/usr/*", "path": "etc"}, "read /usr")
}

// No pattern finds anything outside the declared directory.
func TestGlob_NeverLeavesWhatItDeclares(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.write("w/in", "")
	r.write("secret/key", "")
	r.link("../secret", "w/link")
	r.link("..", "w/up")
	for _, pattern := range []string{"**/*", "*/*", "l*/*", "{link,x}/*", "l[i]nk/key", "?ink/key", "*/../*", "{..,x}/secret/*", "[.][.]/secret/*", `\../secret/*`, "u?/secret/*", "**/../../secret/*"} {
		out := r.run("glob", args{"pattern": pattern, "path": "w"})
		if got := fmt.Sprint(tool.String(out.Result.Output)); strings.Contains(got, "key") {
			t.Errorf("%s finds %q", pattern, got)
		}
		r.declares("glob", args{"pattern": pattern, "path": "w"}, "read "+r.path("w"))
	}
}

func TestGlob_DefaultIsAThousandFiles(t *testing.T) {
	r := newRig(t, tools.Config{})
	for i := range 1001 {
		r.write(fmt.Sprint(i), "")
	}
	if f := r.run("glob", args{"pattern": "*"}).Result.Fields; f["files"] != 1000 || f["partial"] != true {
		t.Errorf("got %v, want 1000 files of more", f)
	}
}

func TestGlob_NewestFilesAreNotTruncated(t *testing.T) {
	r := newRig(t, tools.Config{})
	start := time.Now().Add(-time.Hour)
	for i := range 600 {
		name := fmt.Sprintf("file%03d", i)
		r.write(name, "")
		if err := os.Chtimes(r.path(name), start, start.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	out := r.run("glob", args{"pattern": "*"})
	lines := strings.Split(out.Model, "\n")
	if lines[0] != "file599" || lines[499] != "file100" || !strings.Contains(lines[500], "omitted") {
		t.Errorf("of 600 files the model sees %q first, %q as the 500th and %q after it", lines[0], lines[499], lines[500])
	}
}
