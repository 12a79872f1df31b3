//go:build unix

package native_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/tool"
)

func TestClaude_NamesParametersAndLimits(t *testing.T) {
	contract(t, coding.AnthropicFamily, [][2]string{
		{"Bash", "command*:string dangerouslyDisableSandbox:boolean description:string run_in_background:boolean timeout:number"},
		{"Glob", "path:string pattern*:string"},
		{"Grep", "-A:number -B:number -C:number -i:boolean -n:boolean -o:boolean context:number glob:string head_limit:number multiline:boolean " +
			"offset:number output_mode:string[content files_with_matches count] path:string pattern*:string type:string"},
		{"Read", "allow_large:boolean file_path*:string limit:number offset:number pages:string"},
		{"Edit", "file_path*:string new_string*:string old_string*:string replace_all:boolean"},
		{"Write", "content*:string file_path*:string"},
		{"TodoWrite", "todos*:array(activeForm*:string content*:string status*:string[pending in_progress completed])"},
		{"TaskOutput", "block:boolean task_id*:string timeout:number"},
		{"TaskStop", "shell_id:string task_id:string"},
	}, map[string]int{"Bash": 30_000, "Grep": 20_000, "Glob": 50_000, "Edit": 50_000, "Read": 100_000})
}

func use(message string) string { return "<tool_use_error>" + message + "</tool_use_error>" }

func TestClaude_FilesOutputs(t *testing.T) {
	r := newRig(t, coding.AnthropicFamily, coding.ToolConfig{})
	r.write("a.txt", "one\n2\ttwo\n\nfour\n")
	r.write("empty", "")
	r.write("long", lines(2500, "x"))
	r.write("big", lines(6000, strings.Repeat("y", 50)))
	r.write("wide", strings.Repeat("z", 110_000))
	r.write("i.png", png)
	var first2000 strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&first2000, "%d\tx\n", i+1)
	}
	r.golden([]step{
		{"numbered with a tab", "Read", args{"file_path": "a.txt"}, "1\tone\n2\t2\ttwo\n3\t\n4\tfour\n", ""},
		{"a range", "Read", args{"file_path": "a.txt", "offset": 2, "limit": 1}, "2\t2\ttwo\n", ""},
		{"2000 lines", "Read", args{"file_path": "long"}, first2000.String(), ""},
		{"image", "Read", args{"file_path": "i.png"}, "", ""},
		{"empty", "Read", args{"file_path": "empty"}, "<system-reminder>Warning: the file is empty.</system-reminder>", ""},
		{"past the end", "Read", args{"file_path": "a.txt", "offset": 9}, "<system-reminder>Warning: the file has 4 lines, fewer than the offset 9.</system-reminder>", ""},
		{"missing", "Read", args{"file_path": "none"}, use("File not found: none. Check the path, or search for the file by name."), tool.FileNotFound},
		{"over 256 KiB", "Read", args{"file_path": "big"}, use("big has 306000 bytes; 262144 can be read at once. Read a part of it with offset and limit, or search it."), tool.TooLarge},
		{"over 25000 tokens", "Read", args{"file_path": "wide"}, use("These lines of wide are about 27501 tokens; 25000 can be read at once. Read fewer lines with offset and limit, or search the file."), tool.TooLarge},
		{"pages", "Read", args{"file_path": "a.txt", "pages": "1-2"}, use("Pages of a.txt cannot be read. Convert the PDF with a command such as pdftotext."), tool.UnsupportedMedia},
		{"device", "Read", args{"file_path": "/dev/zero"}, use("/dev/zero is a device, pipe or socket. Only regular files can be read and written."), tool.NotAFile},

		{"create", "Write", args{"file_path": "new/n.txt", "content": "hello\n"}, "new/n.txt was created.", ""},
		{"what was written is known", "Write", args{"file_path": "new/n.txt", "content": "hello hello\n"}, "new/n.txt was updated.", ""},
		{"unread", "Write", args{"file_path": "big2", "content": "x"}, "big2 was created.", ""},
		{"overwrite unread", "Write", args{"file_path": "big", "content": "x"}, use("big has not been read yet. Read it before changing it."), tool.NotRead},

		{"edit", "Edit", args{"file_path": "a.txt", "old_string": "four", "new_string": "4"}, "a.txt was updated.", ""},
		{"edit all", "Edit", args{"file_path": "new/n.txt", "old_string": "hello", "new_string": "bye", "replace_all": true}, "new/n.txt was updated: 2 occurrences replaced.", ""},
		{"several places", "Edit", args{"file_path": "new/n.txt", "old_string": "bye", "new_string": "x"}, use("new/n.txt was not changed: old_string matches 2 places (lines 1, 1); add surrounding lines to make it unique, or replace every occurrence"), tool.EditConflict},
		{"identical", "Edit", args{"file_path": "a.txt", "old_string": "one", "new_string": "one"}, use("a.txt was not changed: old_string and new_string are the same, so there is nothing to change"), tool.EditConflict},
		{"edit unread", "Edit", args{"file_path": "wide", "old_string": "zz", "new_string": "x"}, use("wide has not been read yet. Read it before changing it."), tool.NotRead},
		{"todo", "TodoWrite", args{"todos": []any{args{"content": "c", "status": "in_progress", "activeForm": "a"}}}, "The list was updated. Continue with the item in progress.", ""},
		{"glob", "Glob", args{"pattern": "a*"}, "a.txt", ""},
		{"no files", "Glob", args{"pattern": "*.rs"}, "No files found", ""},
	})
	if got := r.content("a.txt") + r.content("new/n.txt"); got != "one\n2\ttwo\n\n4\nbye bye\n" {
		t.Errorf("the files hold %q", got)
	}
	r.write("a.txt", "changed by another\n")
	r.golden([]step{
		{"modified", "Edit", args{"file_path": "a.txt", "old_string": "changed", "new_string": "x"}, use("a.txt has been modified since it was read. Read it again before changing it."), tool.NotRead},
		{"curly quotes", "Write", args{"file_path": "q", "content": "say “yes”\n"}, "q was created.", ""},
		{"matched by look", "Edit", args{"file_path": "q", "old_string": `say "yes"`, "new_string": "say no"},
			"q was updated.\nold_string did not match exactly; the replaced text differs from it only in look-alike characters (quotes, dashes, spaces).\n" +
				`line 1: file has "say “yes”", old_string has "say \"yes\""`, ""},
	})
	if out := r.run("Edit", args{"file_path": "q", "old_string": "nowhere to be found", "new_string": "x"}); !strings.Contains(out.Model, "nowhere") && !strings.Contains(out.Model, "not found") {
		t.Errorf("a miss gives %q", out.Model)
	}
}

func TestClaude_BashOutputs(t *testing.T) {
	r := newRig(t, coding.AnthropicFamily, coding.ToolConfig{})
	r.golden([]step{
		{"success", "Bash", args{"command": "echo out; echo err", "description": "speaks"}, "out\nerr\n", ""},
		{"empty", "Bash", args{"command": "cat"}, "(Bash completed with no output)", ""},
		{"failure", "Bash", args{"command": "echo no; exit 3"}, "Exit code 3\nno\n", tool.ShellExitError},
		{"signal", "Bash", args{"command": "kill -9 $$"}, "Exit code 137\nThe command was killed by SIGKILL (exit code 137).\n", tool.ShellExitError},
		{"truncation", "Bash", args{"command": "yes 123456789 | head -n 4000"}, lines(3000, "123456789") + "\n\n... [1000 lines truncated] ...", ""},
		{"truncated failure", "Bash", args{"command": "yes 123456789 | head -n 4000; exit 1"},
			"Exit code 1\n" + lines(500, "123456789") + "\n\n... [30000 characters truncated] ...\n\n" + lines(500, "123456789"), tool.ShellExitError},
		{"no command", "Bash", args{"command": ""}, use("command is empty."), tool.ValidationError},
		{"background", "Bash", args{"command": "echo hello", "run_in_background": true}, "The command runs in the background with ID 1. Read its output with TaskOutput; stop it with TaskStop.", ""},
		{"its output", "TaskOutput", args{"task_id": "1", "timeout": 60_000}, "Status: exited with code 0\nhello\n", ""},
		{"by its older name", "BashOutput", args{"bash_id": "1"}, "Status: exited with code 0\n", ""},
		{"another", "Bash", args{"command": "exec sleep 600", "run_in_background": true}, "The command runs in the background with ID 2. Read its output with TaskOutput; stop it with TaskStop.", ""},
		{"running", "TaskOutput", args{"task_id": "2", "block": false}, "Status: running\n", ""},
		{"stop", "TaskStop", args{"task_id": "2"}, "Status: exited with code 143\n", ""},
		{"unknown", "TaskStop", args{"shell_id": "7"}, use(`No background process has the id "7"; the ids are 1, 2.`), tool.ProcessNotFound},
	})
	out := r.run("Bash", args{"command": "echo on; exec sleep 60", "timeout": 200})
	if out.OK() || out.Result.Error.Code != tool.ShellTimeout || out.Model != "Exit code 143\nThe command timed out after 200 ms.\non\n" {
		t.Errorf("a timeout gives %q (%+v)", out.Model, out.Result.Error)
	}
}

func TestClaude_TimeoutIsTwoMinutesAndAtMostTen(t *testing.T) {
	p := profile(coding.AnthropicFamily, coding.ToolConfig{})
	if p.ToolConfig.DefaultTimeout != 2*time.Minute || !strings.Contains(p.Instructions, "2 minutes") {
		t.Errorf("the timeout is %v", p.ToolConfig.DefaultTimeout)
	}
	if d := p.Tools[0].Spec().Description; !strings.Contains(d, "default 120000, at most 600000") {
		t.Errorf("Bash says %q", d)
	}
	r := newRig(t, coding.AnthropicFamily, coding.ToolConfig{MaxTimeout: 100 * time.Millisecond})
	if out := r.run("Bash", args{"command": "sleep 60", "timeout": 600_000}); !strings.Contains(out.Model, "timed out after 100 ms") {
		t.Errorf("the host's maximum gives %q", out.Model)
	}
}

func TestClaude_SearchOutputs(t *testing.T) {
	r := newRig(t, coding.AnthropicFamily, coding.ToolConfig{})
	r.write("a.go", "alpha\nbeta alpha\ngamma\n")
	r.write("b.go", "Alpha\n")
	r.write(".hidden", "alpha\n")
	r.write(".git/config", "alpha\n")
	r.write("many.txt", lines(300, "delta"))
	r.write("wide.txt", "epsilon"+strings.Repeat("e", 1000)+"\n")
	for i := range 120 {
		r.write(fmt.Sprintf("tree/%03d.c", i), "")
	}
	var shown strings.Builder
	for i := range 250 {
		fmt.Fprintf(&shown, "many.txt:%d:delta\n", i+1)
	}
	r.golden([]step{
		{"files by default, hidden ones too, no VCS directories", "Grep", args{"pattern": "alpha"}, "Found 2 files\n.hidden\na.go", ""},
		{"one file", "Grep", args{"pattern": "Alpha"}, "Found 1 file\nb.go", ""},
		{"content with numbers", "Grep", args{"pattern": "alpha", "glob": "*.go", "output_mode": "content"}, "a.go:1:alpha\na.go:2:beta alpha", ""},
		{"without numbers", "Grep", args{"pattern": "beta", "output_mode": "content", "-n": false}, "a.go:beta alpha", ""},
		{"context", "Grep", args{"pattern": "gamma", "output_mode": "content", "-B": 1}, "a.go-2-beta alpha\na.go:3:gamma", ""},
		{"only the matches", "Grep", args{"pattern": "a[lm]", "output_mode": "content", "path": "a.go", "-o": true}, "a.go:1:al\na.go:2:al\na.go:3:am", ""},
		{"counts", "Grep", args{"pattern": "alpha", "-i": true, "type": "go", "output_mode": "count"}, "a.go:2\nb.go:1\n\nFound 3 matches in 2 files.", ""},
		{"window", "Grep", args{"pattern": "a", "output_mode": "content", "path": "a.go", "head_limit": 1, "offset": 1}, "a.go:2:beta alpha\n\n[The results stop at head_limit 1. Use offset 2 for more.]", ""},
		{"250 lines", "Grep", args{"pattern": "delta", "output_mode": "content"}, strings.TrimSuffix(shown.String(), "\n") + "\n\n[The results stop at head_limit 250. Use offset 250 for more.]", ""},
		{"all", "Grep", args{"pattern": "a", "output_mode": "content", "path": "a.go", "head_limit": 0, "offset": 2}, "a.go:3:gamma", ""},
		{"500 columns", "Grep", args{"pattern": "epsilon", "output_mode": "content"}, "wide.txt:1:epsilon" + strings.Repeat("e", 493), ""},
		{"no files", "Grep", args{"pattern": "zeta"}, "No files found", ""},
		{"no matches", "Grep", args{"pattern": "zeta", "output_mode": "content"}, "No matches found", ""},
	})
	out := r.run("Glob", args{"pattern": "tree/*.c"})
	if n := strings.Count(out.Model, "tree/"); n != 100 || !strings.HasSuffix(out.Model, "\n(The list is incomplete: result limit reached. Use a more specific path or pattern.)") {
		t.Errorf("%d files are listed: %s", n, short(out.Model))
	}
	if out := r.run("Grep", args{"pattern": "("}); out.OK() || out.Result.Error.Code != tool.InvalidPattern || !strings.HasPrefix(out.Model, "<tool_use_error>") {
		t.Errorf("a bad pattern gives %q", out.Model)
	}
	if out := r.run("Grep", args{"pattern": "x", "output_mode": "lines"}); out.OK() || out.Result.Error.Code != tool.ValidationError {
		t.Errorf("a bad mode gives %q", out.Model)
	}
}

func TestClaude_CallsDeclareTheirAccesses(t *testing.T) {
	r := newRig(t, coding.AnthropicFamily, coding.ToolConfig{})
	r.declares("Read", args{"file_path": "a"}, "read DIR/a")
	r.declares("Edit", args{"file_path": "a", "old_string": "x", "new_string": "y"}, "read DIR/a", "write DIR/a")
	r.declares("Write", args{"file_path": "a", "content": "x"}, "write DIR/a")
	r.declares("Bash", args{"command": "rm -rf x"}, "exec rm -rf x")
	r.declares("Bash", args{"command": "rm -rf x", "run_in_background": true}, "exec rm -rf x")
	r.declares("Grep", args{"pattern": "x", "path": "sub"}, "read DIR/sub")
	r.declares("Glob", args{"pattern": "/etc/*"}, "read /etc")
}
