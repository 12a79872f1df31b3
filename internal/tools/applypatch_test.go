//go:build unix

package tools_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/tool"
)

// patch makes the arguments of apply_patch from the lines between the markers.
func patch(lines ...string) args {
	return args{"patch": "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch\n"}
}

func TestApplyPatch_AddsUpdatesMovesAndDeletes(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.write("m.txt", "a\nb\nc\n")
	r.write("old.sh", "one\r\ntwo\r\n")
	if err := os.Chmod(r.path("old.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.write("gone.txt", "x")
	out := r.run("apply_patch", patch(
		"*** Update File: m.txt", "@@", " a", "-b", "+B",
		"*** Delete File: gone.txt",
		"*** Update File: old.sh", "*** Move to: sub/new.sh", "@@", "-two", "+2",
		"*** Add File: n/new.txt", "+hello"))
	want := "Success. Updated the following files:\nA n/new.txt\nM m.txt\nM sub/new.sh\nD gone.txt\n"
	if !out.OK() || out.Model != want || out.Result.Fields["files"] != 4 {
		t.Fatalf("%+v %q", out.Result.Error, out.Model)
	}
	if got := out.Result.Artifacts.FilesChanged; !slices.Equal(got, []string{"m.txt", "gone.txt", "sub/new.sh", "old.sh", "n/new.txt"}) {
		t.Errorf("changed %v", got)
	}
	files := r.tree()
	for p, want := range map[string]string{"m.txt": "-rw-r--r-- a\nB\nc\n", "sub/new.sh": "-rwxr-xr-x one\r\n2\r\n", "n/new.txt": "-rw-r--r-- hello\n"} {
		if files[r.path(p)] != want {
			t.Errorf("%s is %q, want %q", p, files[r.path(p)], want)
		}
	}
	if len(files) != 6 { // the directory itself, two directories, three files
		t.Errorf("there are %v", slices.Sorted(maps.Keys(files)))
	}
}

func TestApplyPatch_FailureInAnyFileChangesNone(t *testing.T) {
	r := newRig(t, tools.Config{MaxFileSize: 1000})
	r.write("a", "one\n")
	r.write("bin", "\x00\x01")
	r.write("big", strings.Repeat("x", 1001))
	r.write("d/f", "x")
	r.link("a", "link")
	if err := syscall.Mkfifo(r.path("pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	before := r.tree()
	first := []string{"*** Add File: new/x", "+x", "*** Update File: a", "@@", "-one", "+1"}
	for _, c := range []struct {
		code tool.Code
		says string
		ops  []string
	}{
		{tool.FileNotFound, "nothing", []string{"*** Update File: nothing", "@@", "-x", "+y"}},
		{tool.FileNotFound, "nothing", []string{"*** Delete File: nothing"}},
		{tool.EditConflict, "d/f", []string{"*** Update File: d/f", "@@", "-y", "+z"}},
		{tool.EditConflict, "no such hint", []string{"*** Update File: d/f", "@@ no such hint", "-x", "+z"}},
		{tool.BinaryFile, "bin", []string{"*** Update File: bin", "@@", "-y", "+z"}},
		{tool.TooLarge, "big", []string{"*** Update File: big", "@@", "-y", "+z"}},
		{tool.NotAFile, "d", []string{"*** Delete File: d"}},
		{tool.NotAFile, "d", []string{"*** Add File: d", "+x"}},
		{tool.NotADirectory, "", []string{"*** Add File: d/f/x", "+x"}},
		{tool.NotAFile, "pipe", []string{"*** Add File: pipe", "+x"}},
		{tool.NotAFile, "pipe", []string{"*** Delete File: pipe"}},
		{tool.EditConflict, "the same file", []string{"*** Update File: link", "@@", "-one", "+2"}},
		{tool.EditConflict, "the same file", []string{"*** Delete File: " + r.path("a")}},
		{tool.EditConflict, "the same file", []string{"*** Update File: d/f", "*** Move to: d/../link", "@@", "-x", "+2"}},
	} {
		r.fails(c.code, "apply_patch", patch(append(slices.Clone(first), c.ops...)...), c.says, "othing was changed")
		if after := r.tree(); !maps.Equal(before, after) {
			t.Fatalf("%v: the files were %q and are %q", c.ops, before, after)
		}
	}
	r.fails(tool.PatchError, "apply_patch", args{"patch": "hello"}, "invalid patch")
	r.fails(tool.PatchError, "apply_patch", patch("*** Rename File: x"), "invalid patch", "*** ")
	r.fails(tool.PatchError, "apply_patch", patch())
}

func TestApplyPatch_LetterCaseIsIgnoredIfThePlatformIgnoresIt(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.write("a", "one\n")
	r.write("A", "one\n")
	two := patch("*** Update File: a", "@@", "-one", "+1", "*** Update File: A", "@@", "-one", "+2")
	onDarwin := *r
	onDarwin.env = platform{r.env, "darwin"}
	onDarwin.fails(tool.EditConflict, "apply_patch", two, "the same file")
	r.ok("apply_patch", two)
	if r.read("a") != "1\n" || r.read("A") != "2\n" {
		t.Errorf("the files are %q and %q", r.read("a"), r.read("A"))
	}
}

// platform is an environment that reports another platform.
type platform struct {
	env.Environment
	name string
}

func (p platform) Info() env.Info {
	info := p.Environment.Info()
	info.Platform = p.name
	return info
}

func TestApplyPatch_ClassicKeepsWhatCameBefore(t *testing.T) {
	r := newRig(t, tools.Config{ClassicPatch: true})
	out := r.run("apply_patch", patch("*** Add File: made", "+x", "*** Update File: missing", "@@", "-a", "+b"))
	if out.OK() || out.Result.Error.Code != tool.FileNotFound || !strings.Contains(out.Model, "changes before it were made") || r.read("made") != "x\n" {
		t.Errorf("%+v", out)
	}
	if !slices.Equal(out.Result.Artifacts.FilesChanged, []string{"made"}) || strings.Contains(out.Model, "Success") {
		t.Errorf("%q", out.Model)
	}
}

func TestApplyPatch_AmbiguousPlaceIsNamed(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.write("f", "x\na\nx\nb\n")
	if got := r.ok("apply_patch", patch("*** Update File: f", "@@", "-x", "+y")); !strings.Contains(got, "3") || r.read("f") != "y\na\nx\nb\n" {
		t.Errorf("got %q; the file is %q", got, r.read("f"))
	}
}

func TestApplyPatch_DeclaresEveryFileAsItReallyIs(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.write("d/f", "x\n")
	r.link("d", "dir")
	outside := t.TempDir()
	r.link(outside+"/f", "link")
	r.declares("apply_patch", patch(
		"*** Add File: dir/new", "+x",
		"*** Delete File: link",
		"*** Update File: link", "@@", "-x", "+y",
		"*** Update File: dir/f", "*** Move to: "+outside+"/x", "@@", "-x", "+y"),
		"write "+r.path("d/new"), "delete "+r.path("link"),
		"read "+outside+"/f", "write "+outside+"/f",
		"read "+r.path("d/f"), "delete "+r.path("d/f"), "write "+outside+"/x")
	r.declares("apply_patch", args{"patch": "no patch"})
}
