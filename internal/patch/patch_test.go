package patch

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// TestPatch_Scenarios runs testdata/*.txtar: in/ and out/ are the files before and after, patch is the patch, err a
// substring of the error, notes the plan's notes. An error leaves the files unchanged.
func TestPatch_Scenarios(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			in, out, part := tree{}, tree{}, map[string]string{}
			for _, f := range archive.Files {
				if name, ok := strings.CutPrefix(f.Name, "in/"); ok {
					in[name] = string(f.Data)
				} else if name, ok := strings.CutPrefix(f.Name, "out/"); ok {
					out[name] = string(f.Data)
				} else {
					part[f.Name] = strings.TrimSuffix(string(f.Data), "\n")
				}
			}
			scenario(t, in, out, part)
		})
	}
}

func scenario(t *testing.T, in, out tree, part map[string]string) {
	var plan Plan
	parsed, err := Parse(part["patch"] + "\n")
	if err == nil {
		plan, err = parsed.Plan(in, Options{})
	}
	if want := part["err"]; want != "" {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one with %q", err, want)
		}
		if len(plan.Ops) > 0 {
			t.Errorf("a failed patch planned %d operations", len(plan.Ops))
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(out, in.carryOut(plan.Ops)); diff != "" {
		t.Errorf("files differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(part["notes"], strings.Join(plan.Notes, "\n")); diff != "" {
		t.Errorf("notes differ (-want +got):\n%s", diff)
	}
}

func update(hunks string) string {
	return "*** Begin Patch\n*** Update File: f\n" + hunks + "*** End Patch\n"
}

func TestPatch_LineEndings(t *testing.T) {
	for _, c := range []struct{ name, in, hunks, want string }{
		{"added lines end like the first line", "a\r\nb\nc\n", "@@\n-b\n+B\n", "a\r\nB\r\nc\n"},
		{"a missing final newline is added", "a\r\nb", "@@\n-a\n+A\n", "A\r\nb\r\n"},
		{"lines are added after a last line without newline", "a\r\nb", "@@\n+c\n", "a\r\nb\r\nc\r\n"},
		{"a removed last line leaves the others alone", "a\nb", "@@\n-b\n", "a\n"},
		{"a file may become empty", "a", "@@\n-a\n", ""},
		{"a new line with CR does not swallow an empty line", "a\rb\n\nc\n", "@@\n-b\n+B\n", "a\rB\r\n\nc\n"},
		{"a removed line does not join CR and LF", "a\rb\n\nc\n", "@@\n-b\n", "a\r\r\nc\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := run(tree{"f": c.in}, update(c.hunks), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got["f"] != c.want {
				t.Errorf("got %q, want %q", got["f"], c.want)
			}
		})
	}
}

func TestPatch_UndecodableFileIsRefused(t *testing.T) {
	for name, content := range map[string]string{
		"NUL byte":         "a\x00b\n",
		"unknown encoding": "\x81\x8d\xff\xff\xff\n",
	} {
		files := tree{"f": content}
		_, err := run(files, update("@@\n+x\n"), Options{})
		var failure *Error
		if !errors.As(err, &failure) || failure.Kind != Undecodable {
			t.Errorf("%s: got %v, want kind %s", name, err, Undecodable)
		}
		if failure != nil && failure.Unwrap() == nil {
			t.Errorf("%s: the error %v has no cause", name, err)
		}
	}
}

func TestPatch_UnencodableCharacterIsNamed(t *testing.T) {
	files := tree{"f": "caf\xe9 au lait\n"}
	_, err := run(files, update("@@\n+漢\n"), Options{})
	var failure *Error
	if !errors.As(err, &failure) || failure.Kind != Unencodable || !strings.Contains(err.Error(), "'漢' (U+6F22)") {
		t.Errorf("got %v, want kind %s and the character", err, Unencodable)
	}
}

func TestPatch_PathsAreKeptAsWritten(t *testing.T) {
	p, err := Parse("*** Begin Patch\n*** Add File: ../../etc/x\n*** Delete File: /abs//p/../q\n*** Update File: a b\n*** Move to: C:\\x\n+y\n*** End Patch")
	if err != nil {
		t.Fatal(err)
	}
	want := []Op{
		{Action: Add, Path: "../../etc/x", Line: 2},
		{Action: Delete, Path: "/abs//p/../q", Line: 3},
		{Action: Update, Path: "a b", MoveTo: `C:\x`, Line: 4, hunks: []hunk{{lines: []hunkLine{{insert, "y"}}, line: 6}}},
	}
	if diff := cmp.Diff(want, p.Ops, cmp.AllowUnexported(Op{}, hunk{}, hunkLine{})); diff != "" {
		t.Errorf("operations differ (-want +got):\n%s", diff)
	}
}

func TestPatch_PlanListsReplacedLines(t *testing.T) {
	files := tree{"a": "1\n", "b": "2\n", "c": "3\n"}
	p, err := Parse("*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n*** Move to: c\n@@\n-2\n+y\n*** Add File: d\n+z\n*** End Patch")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := p.Plan(files, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []FileOp{
		{Action: Update, Path: "a", Content: []byte("x\n")},
		{Action: Update, Path: "c", From: "b", Content: []byte("y\n")},
		{Action: Add, Path: "d", Content: []byte("z\n")},
	}
	if diff := cmp.Diff(want, plan.Ops); diff != "" {
		t.Errorf("operations differ (-want +got):\n%s", diff)
	}
}
