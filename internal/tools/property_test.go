//go:build unix

package tools_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/reins-agent/reins/internal/textfile/textfiletest"
	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/tool"
)

// place is a file on disk with its mode and the name used to reach it.
type place struct {
	file, name string
	mode       os.FileMode
	owner      int
}

// drawPlace writes a file and links to it.
func drawPlace(t *rapid.T, r *rig, content string) place {
	p := place{
		file:  "real/f.txt",
		mode:  rapid.SampledFrom([]os.FileMode{0o600, 0o644, 0o755, 0o640}).Draw(t, "mode"),
		owner: os.Getuid(),
	}
	for _, old := range []string{"link", "dir", "real"} {
		if err := os.RemoveAll(r.path(old)); err != nil {
			t.Fatal(err)
		}
	}
	r.write(p.file, content)
	r.link("real/f.txt", "link")
	r.link("real", "dir")
	p.name = rapid.SampledFrom([]string{"real/f.txt", "link", "dir/f.txt", r.path("link")}).Draw(t, "name")
	if os.Getuid() == 0 {
		p.owner = rapid.SampledFrom([]int{0, 12345}).Draw(t, "owner")
		if err := os.Chown(r.path(p.file), p.owner, p.owner); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(r.path(p.file), p.mode); err != nil {
		t.Fatal(err)
	}
	return p
}

// check checks that mode, owner and links are unchanged and that there are no other files.
func (p place) check(t *rapid.T, r *rig) {
	info, err := os.Lstat(r.path(p.file))
	if err != nil {
		t.Fatal(err)
	}
	if owner := int(info.Sys().(*syscall.Stat_t).Uid); info.Mode() != p.mode || owner != p.owner {
		t.Fatalf("mode %v and owner %d became %v and %d", p.mode, p.owner, info.Mode(), owner)
	}
	if to, err := os.Readlink(r.path("link")); err != nil || to != "real/f.txt" {
		t.Fatalf("the link leads to %q (%v)", to, err)
	}
	if files := r.tree(); len(files) != 5 {
		t.Fatalf("there are more files than before: %v", files)
	}
}

// drawLines draws new lines in the characters of a sample.
func drawLines(t *rapid.T, s textfiletest.Sample) []string {
	lines := make([]string, rapid.IntRange(1, 3).Draw(t, "new lines"))
	for i := range lines {
		lines[i] = fmt.Sprintf("<new %d>%s", i, strings.TrimRight(s.Line(t, "new line"), " \t"))
	}
	return lines
}

func TestEditFile_OnDiskOnlyTheSpanChanges(t *testing.T) {
	r := newRig(t, tools.Config{})
	rapid.Check(t, func(t *rapid.T) {
		s := textfiletest.Draw(t)
		p := drawPlace(t, r, s.File(t))
		first := rapid.IntRange(0, len(s.Lines)-1).Draw(t, "first")
		last := rapid.IntRange(first, len(s.Lines)-1).Draw(t, "last")
		out := r.run("edit_file", args{"file_path": p.name, "old_string": strings.Join(s.Lines[first:last+1], "\n"), "new_string": strings.Join(drawLines(t, s), "\n")})
		if !out.OK() || out.Result.Fields["match"] != "exact" {
			t.Fatalf("%s: %+v", s.Name, out.Result)
		}
		before := s.BOM + s.Bytes(t, 0, first)
		after := s.Encode(t, s.Endings[last]) + s.Bytes(t, last+1, len(s.Lines))
		got := r.read(p.file)
		if len(got) < len(before)+len(after) || !strings.HasPrefix(got, before) || !strings.HasSuffix(got, after) {
			t.Fatalf("%s: bytes outside the span changed:\nbefore %q\nafter  %q\ngot    %q", s.Name, before, after, got)
		}
		p.check(t, r)
	})
}

func TestApplyPatch_OnDiskOnlyTheHunkChanges(t *testing.T) {
	r := newRig(t, tools.Config{})
	rapid.Check(t, func(t *rapid.T) {
		s := textfiletest.Draw(t)
		p := drawPlace(t, r, s.File(t))
		n := rapid.IntRange(0, len(s.Lines)-1).Draw(t, "line")
		hunk := []string{"*** Update File: " + p.name, "@@"}
		if n > 0 {
			hunk = append(hunk, " "+s.Lines[n-1])
		}
		hunk = append(hunk, "-"+s.Lines[n])
		added := drawLines(t, s)
		for _, l := range added {
			hunk = append(hunk, "+"+l)
		}
		out := r.run("apply_patch", patch(hunk...))
		if !out.OK() {
			t.Fatalf("%s: %+v", s.Name, out.Result.Error)
		}
		before, after := s.BOM+s.Bytes(t, 0, n), s.Bytes(t, n+1, len(s.Lines))
		got := r.read(p.file)
		if rest, ok := strings.CutPrefix(got, before); !ok || !strings.HasPrefix(rest, s.Encode(t, added[0])) {
			t.Fatalf("%s: bytes before the hunk changed:\nbefore %q\ngot    %q", s.Name, before, got)
		}
		// Patches add a missing final line ending.
		if i := strings.Index(got[len(before):], after); i < 0 || len(s.Endings[len(s.Lines)-1]) > 0 && !strings.HasSuffix(got, after) {
			t.Fatalf("%s: bytes after the hunk changed:\nafter %q\ngot   %q", s.Name, after, got)
		}
		p.check(t, r)
	})
}

// A failed edit or patch leaves the file untouched, including its modification time.
func TestEditAndPatch_FailureLeavesTheFileUntouched(t *testing.T) {
	r := newRig(t, tools.Config{})
	rapid.Check(t, func(t *rapid.T) {
		s := textfiletest.Draw(t)
		content := s.File(t)
		p := drawPlace(t, r, content)
		before, err := os.Stat(r.path(p.file))
		if err != nil {
			t.Fatal(err)
		}
		for name, a := range map[string]args{
			"edit_file":   {"file_path": p.name, "old_string": "<no such line>", "new_string": "<nor this>"},
			"apply_patch": patch("*** Update File: "+p.name, "@@", "-<no such line>", "+x"),
		} {
			if out := r.run(name, a); out.OK() || out.Result.Error.Code != tool.EditConflict {
				t.Fatalf("%s: %+v", name, out.Result)
			}
		}
		after, err := os.Stat(r.path(p.file))
		if err != nil || !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) || r.read(p.file) != content {
			t.Fatalf("%s: the file was touched (%v)", s.Name, err)
		}
		p.check(t, r)
	})
}
