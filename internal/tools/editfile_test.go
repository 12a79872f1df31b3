//go:build unix

package tools_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/tool"
)

func TestEditFile_ReplacesAndTellsHowItMatched(t *testing.T) {
	r := newRig(t, tools.Config{})
	for _, c := range []struct {
		name, content string
		args          args
		want, says    string
		match         string
	}{
		{"exact", "a\nb\n", args{"old_string": "b", "new_string": "c"}, "a\nc\n", "Edited f: 1 replacement.", "exact"},
		{"all", "b b\n", args{"old_string": "b", "new_string": "c", "replace_all": true}, "c c\n", "2 replacements", "exact"},
		{"crlf", "a\r\nb\r\n", args{"old_string": "a\nb", "new_string": "a\nx\nb"}, "a\r\nx\r\nb\r\n", "1 replacement", "exact"},
		{"whitespace", "\tif x {\n\t}\n", args{"old_string": "  if x {\n  }", "new_string": "  if y {\n  }"}, "\tif y {\n\t}\n", "white space", "whitespace"},
		{"quotes", "say “hi”\n", args{"old_string": "say \"hi\"", "new_string": "say nothing"}, "say nothing\n", "", "lookalike"},
		{"already", "a\nc\n", args{"old_string": "b", "new_string": "c"}, "a\nc\n", "f: Nothing was changed", "already_applied"},
	} {
		r.write("f", c.content)
		c.args["file_path"] = "f"
		out := r.run("edit_file", c.args)
		if !out.OK() || out.Result.Fields["match"] != c.match || r.read("f") != c.want || !strings.Contains(out.Model, c.says) {
			t.Errorf("%s: %+v; the file is %q", c.name, out, r.read("f"))
		}
		if changed := len(out.Result.Artifacts.FilesChanged) == 1; changed != (c.match != "already_applied") {
			t.Errorf("%s: changed %v", c.name, out.Result.Artifacts)
		}
		if c.match != "exact" && c.match != "already_applied" && strings.Count(out.Model, "\n")+strings.Count(out.Model, ". ") == 0 {
			t.Errorf("%s: the note about the inexact match is missing: %q", c.name, out.Model)
		}
	}
}

func TestEditFile_ConflictSaysWhereAndChangesNothing(t *testing.T) {
	r := newRig(t, tools.Config{MaxFileSize: 1000})
	const content = "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 1\n}\n"
	r.write("f", content)
	r.write("bin", "\x00\x01")
	r.write("damaged", "ok ok ok ok ok ok ok é é é é\xff\n")
	r.write("big", strings.Repeat("x", 1001))
	edit := func(file, old, new string) args {
		return args{"file_path": file, "old_string": old, "new_string": new}
	}
	r.fails(tool.EditConflict, "edit_file", edit("f", "return 1", "return 2"), "2", "6")
	r.fails(tool.EditConflict, "edit_file", edit("f", "func a() {\n\treturn 2\n}", "x"), "return 1", "line 2")
	r.fails(tool.EditConflict, "edit_file", edit("f", "func a", "func a"))
	r.fails(tool.EditConflict, "edit_file", edit("f", "", "x"))
	r.fails(tool.BinaryFile, "edit_file", edit("bin", "a", "b"), "bin was not changed: the file is binary, not text (NUL byte at byte 0)")
	r.fails(tool.BinaryFile, "edit_file", edit("damaged", "ok", "b"))
	r.fails(tool.TooLarge, "edit_file", edit("big", "x", "y"))
	r.fails(tool.FileNotFound, "edit_file", edit("nothing", "a", "b"), "File not found")
	r.fails(tool.NotAFile, "edit_file", edit(".", "a", "b"))
	if r.read("f") != content || r.read("bin") != "\x00\x01" {
		t.Error("a failed edit changed the file")
	}
	out := r.run("edit_file", edit("f", "return 1", "x"))
	if d := out.Result.Error.Details; d["kind"] != "not_unique" || d["count"] != 2 {
		t.Errorf("details %v", d)
	}
}

func TestEditFile_EmptyOldTextCreatesAFile(t *testing.T) {
	r := newRig(t, tools.Config{})
	if got := r.ok("edit_file", args{"file_path": "d/new", "old_string": "", "new_string": "x\n"}); got != "Created d/new: 2 bytes written." || r.read("d/new") != "x\n" {
		t.Errorf("got %q", got)
	}
	r.declares("edit_file", args{"file_path": "d/new", "old_string": "x", "new_string": "y"}, "read "+r.path("d/new"), "write "+r.path("d/new"))
}

func TestEditFile_ParallelEditsOfOneFileAreAllMade(t *testing.T) {
	r := newRig(t, tools.Config{})
	var content, want string
	for i := range 30 {
		content += fmt.Sprintf("<%d>\n", i)
		want += fmt.Sprintf("[%d]\n", i)
	}
	r.write("f", content)
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			old, new := fmt.Sprintf("<%d>", i), fmt.Sprintf("[%d]", i)
			if i%2 == 0 {
				r.ok("edit_file", args{"file_path": "f", "old_string": old, "new_string": new})
			} else {
				r.ok("apply_patch", patch("*** Update File: f", "@@", "-"+old, "+"+new))
			}
		})
	}
	wg.Wait()
	if got := r.read("f"); got != want {
		t.Errorf("the file is %q", got)
	}
}
