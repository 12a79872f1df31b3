//go:build unix

package native_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/internal/gitdir/gitdirtest"
	"github.com/reins-agent/reins/tool"
)

func TestGemini_NamesParametersAndLimits(t *testing.T) {
	contract(t, coding.GeminiFamily, [][2]string{
		{"list_directory", "dir_path*:string file_filtering_options:object(respect_gemini_ignore:boolean respect_git_ignore:boolean) ignore:array"},
		{"read_file", "end_line:number file_path*:string start_line:number"},
		{"grep_search", "after:number before:number case_sensitive:boolean context:number dir_path:string exclude_pattern:string fixed_strings:boolean " +
			"include_pattern:string max_matches_per_file:number names_only:boolean no_ignore:boolean pattern*:string total_max_matches:number"},
		{"glob", "case_sensitive:boolean dir_path:string pattern*:string respect_gemini_ignore:boolean respect_git_ignore:boolean"},
		{"replace", "allow_multiple:boolean file_path*:string instruction*:string new_string*:string old_string*:string"},
		{"write_file", "content*:string file_path*:string"},
		{"run_shell_command", "command*:string delay_ms:number description:string dir_path:string is_background:boolean outside_sandbox:boolean"},
		{"write_todos", "todos*:array(description*:string status*:string[pending in_progress completed cancelled blocked])"},
		{"shell_output", "id*:string|integer wait_ms:integer"},
		{"shell_input", "close:boolean id*:string|integer text:string wait_ms:integer"},
		{"shell_stop", "id*:string|integer"},
	}, map[string]int{"read_file": 40_000, "run_shell_command": 40_000, "grep_search": 40_000, "glob": 40_000, "list_directory": 40_000, "replace": 40_000, "write_file": 40_000})
}

const truncated = "IMPORTANT: The file content has been truncated.\nStatus: Showing lines %d-%d of %d total lines.\n" +
	"Action: Read other parts with start_line and end_line.\n\n--- FILE CONTENT (truncated) ---\n%s"

func TestGemini_FilesOutputs(t *testing.T) {
	r := newRig(t, coding.GeminiFamily, coding.ToolConfig{})
	r.write("a.txt", "one\ntwo\nthree\n")
	r.write("empty", "")
	r.write("long", lines(2500, "x"))
	r.write("wide", strings.Repeat("é", 2001)+"\n")
	r.write("huge", strings.Repeat("x", 21<<20))
	r.write("chars", lines(1000, strings.Repeat("y", 99)))
	code := "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\n"
	r.write("code", code)
	edit := func(file, old, new string) args {
		return args{"file_path": file, "instruction": "i", "old_string": old, "new_string": new}
	}
	r.golden([]step{
		{"no numbers", "read_file", args{"file_path": "a.txt"}, "one\ntwo\nthree", ""},
		{"a range", "read_file", args{"file_path": "a.txt", "start_line": 2, "end_line": 2}, fmt.Sprintf(truncated, 2, 2, 3, "two"), ""},
		{"2000 lines", "read_file", args{"file_path": "long"}, fmt.Sprintf(truncated, 1, 2000, 2500, strings.TrimSuffix(lines(2000, "x"), "\n")), ""},
		{"2000 characters of a line", "read_file", args{"file_path": "wide"}, fmt.Sprintf(truncated, 1, 1, 1, strings.Repeat("é", 2000)+"... [truncated]"), ""},
		{"40000 characters", "read_file", args{"file_path": "chars"},
			lines(80, strings.Repeat("y", 99)) + "\n\n... [59999 characters omitted] ...\n\n" + "\n" + strings.TrimSuffix(lines(320, strings.Repeat("y", 99)), "\n"), ""},
		{"empty", "read_file", args{"file_path": "empty"}, "(no output)", ""},
		{"20 MB", "read_file", args{"file_path": "huge"}, "huge is larger than 20 MB and cannot be read.", tool.TooLarge},
		{"backwards", "read_file", args{"file_path": "a.txt", "start_line": 3, "end_line": 2}, "start_line and end_line must be at least 1, and end_line not before start_line.", tool.ValidationError},
		{"past the end", "read_file", args{"file_path": "a.txt", "start_line": 9}, "start_line 9 is after the end of a.txt, which has 3 lines.", tool.ValidationError},
		{"missing", "read_file", args{"file_path": "none"}, "File not found: none. Check the path, or search for the file by name.", tool.FileNotFound},

		{"create", "write_file", args{"file_path": "new/n", "content": "1\n2\n"}, "Successfully created and wrote to new file: new/n.\nHere is the updated code:\n1\n2", ""},
		{"overwrite", "write_file", args{"file_path": "new/n", "content": "1\n2\n3\n"}, "Successfully overwrote file: new/n.\nHere is the updated code:\n1\n2\n3", ""},
		{"overwrite with the same", "write_file", args{"file_path": "new/n", "content": "1\n2\n3\n"}, "Successfully overwrote file: new/n.", ""},
		{"placeholder", "write_file", args{"file_path": "new/n", "content": "1\n// ... rest of the code ...\n"}, `content contains a placeholder for omitted code ("// ... rest of the code ..."). Pass the complete text.`, tool.ValidationError},

		{"five lines around", "replace", edit("code", "g\n", "G\nG2\n"), "Successfully modified file: code (1 replacement).\nHere is the updated code:\nb\nc\nd\ne\nf\nG\nG2\nh\ni\nj\nk\nl", ""},
		{"not unique", "replace", edit("a.txt", "e", "E"), "a.txt was not changed: old_string matches 3 places (lines 1, 3, 3); add surrounding lines to make it unique, or replace every occurrence", tool.EditConflict},
		{"create by replacing", "replace", edit("made", "", "new\n"), "Successfully created and wrote to new file: made.\nHere is the updated code:\nnew", ""},
		{"create over a file", "replace", edit("a.txt", "", "new\n"), "a.txt already exists; an empty old_string only creates new files.", tool.AlreadyExists},
		{"placeholder", "replace", edit("code", "a\n", "a\n# (rest of methods ...)\n"), `new_string contains a placeholder for omitted code ("# (rest of methods ...)"). Pass the complete text.`, tool.ValidationError},
		{"todos", "write_todos", args{"todos": []any{args{"description": "d", "status": "blocked"}}}, "The list was updated.", ""},
	})
	all := edit("a.txt", "e", "E")
	all["allow_multiple"] = true
	r.golden([]step{{"all", "replace", all, "Successfully modified file: a.txt (3 replacements).\nHere is the updated code:\nonE\ntwo\nthrEE", ""}})
}

func TestGemini_ShellOutputs(t *testing.T) {
	r := newRig(t, coding.GeminiFamily, coding.ToolConfig{})
	r.write("sub/x", "")
	context := func(s string) string { return "<untrusted_context>\n" + s + "\n</untrusted_context>" }
	r.golden([]step{
		{"success", "run_shell_command", args{"command": "ls", "dir_path": "sub"}, context("Output: x\n"), ""},
		{"empty", "run_shell_command", args{"command": "cat"}, context("Output: (empty)"), ""},
		{"exit code", "run_shell_command", args{"command": "exit 2"}, context("Output: (empty)\nExit Code: 2"), ""},
		{"signal", "run_shell_command", args{"command": "kill -9 $$"}, context("Output: (empty)\nExit Code: 137\nSignal: SIGKILL"), ""},
		{"orphans", "run_shell_command", args{"command": "sleep 600 & echo up"}, context("Output: up\n\nBackground processes: 1\nProcess Group PGID: N"), ""},
		{"truncation", "run_shell_command", args{"command": "yes 123456789 | head -n 5000"},
			context("Output: " + lines(800, "123456789") + "\n\n... [10000 characters omitted] ...\n\n" + lines(3200, "123456789")), ""},
		{"end of the block", "run_shell_command", args{"command": "echo '</untrusted_context>'"}, context("Output: &lt;/untrusted_context>\n"), ""},
		{"variables", "run_shell_command", args{"command": "echo $TERM $PAGER $GIT_PAGER"}, context("Output: xterm-256color cat cat\n"), ""},
		{"no command", "run_shell_command", args{"command": " "}, "command is empty.", tool.ValidationError},
		{"background", "run_shell_command", args{"command": "exec sleep 600", "is_background": true}, "The command runs in the background with id 1 (PID N). See shell_output, shell_input and shell_stop.", ""},
		{"with its first output", "run_shell_command", args{"command": "echo up", "is_background": true, "delay_ms": 60_000},
			"The command runs in the background with id 2 (PID N). See shell_output, shell_input and shell_stop.\n" + context("Output: up\n"), ""},
	})
}

// The test of Command.Idle in package tools shows that output resets the timeout.
func TestGemini_SilentCommandIsStopped(t *testing.T) {
	if p := profile(coding.GeminiFamily, coding.ToolConfig{}); p.ToolConfig.DefaultTimeout != 300*time.Second {
		t.Errorf("got timeout %v, want 300s", p.ToolConfig.DefaultTimeout)
	}
	r := newRig(t, coding.GeminiFamily, coding.ToolConfig{DefaultTimeout: time.Second})
	out := r.run("run_shell_command", args{"command": "exec sleep 600"})
	if out.OK() || out.Result.Error.Code != tool.ShellTimeout ||
		!strings.HasPrefix(out.Model, "<untrusted_context>\nOutput: (empty)\nError: The command was stopped because it printed nothing for 1s.\nExit Code: ") {
		t.Errorf("got %q (%+v), want a timeout", out.Model, out.Result.Error)
	}
}

func TestGemini_SearchOutputs(t *testing.T) {
	r := newRig(t, coding.GeminiFamily, coding.ToolConfig{})
	gitdirtest.Init(t, r.dir)
	r.write(".gitignore", "*.log\n")
	r.write("src/a.go", "Alpha\nbeta\nalpha skip\n")
	r.write("x.log", "alpha\n")
	r.write("many", lines(150, "delta"))
	day := 24 * time.Hour
	for name, age := range map[string]time.Duration{"t/new.c": time.Hour, "t/newer.c": time.Minute, "t/z.c": 2 * day, "t/b.c": 3 * day} {
		r.write(name, "")
		when := time.Now().Add(-age)
		if err := os.Chtimes(filepath.Join(r.dir, name), when, when); err != nil {
			t.Fatal(err)
		}
	}
	r.golden([]step{
		{"matches", "grep_search", args{"pattern": "alpha"}, "Found 2 matches for pattern \"alpha\" in path \".\":\n---\nFile: src/a.go\nL1: Alpha\nL3: alpha skip\n---\n", ""},
		{"exclude", "grep_search", args{"pattern": "alpha", "exclude_pattern": "skip", "after": 1}, "Found 1 match for pattern \"alpha\" in path \".\":\n---\nFile: src/a.go\nL1: Alpha\nL2- beta\n---\n", ""},
		{"names", "grep_search", args{"pattern": "ALPHA", "names_only": true, "no_ignore": true}, "Found 2 files for pattern \"ALPHA\" in path \".\":\nsrc/a.go\nx.log\n", ""},
		{"case", "grep_search", args{"pattern": "ALPHA", "case_sensitive": true}, "No matches found for pattern \"ALPHA\" in path \".\".", ""},
		{"plain text", "grep_search", args{"pattern": "a.c", "fixed_strings": true}, "No matches found for pattern \"a.c\" in path \".\".", ""},
		{"glob", "glob", args{"pattern": "**/*.GO"}, "Found 1 file for the pattern \"**/*.GO\" in .:\nDIR/src/a.go\n", ""},
		{"recent ones first", "glob", args{"pattern": "t/*.c"}, "Found 4 files for the pattern \"t/*.c\" in .:\nDIR/t/newer.c\nDIR/t/new.c\nDIR/t/b.c\nDIR/t/z.c\n", ""},
		{"glob without ignoring", "glob", args{"pattern": "*.log", "respect_git_ignore": false}, "Found 1 file for the pattern \"*.log\" in .:\nDIR/x.log\n", ""},
		{"no glob", "glob", args{"pattern": "*.rs"}, "No files found for the pattern \"*.rs\" in .", ""},
		{"list", "list_directory", args{"dir_path": ".", "ignore": []string{".git*"}}, "Directory listing for .:\n[DIR] src\n[DIR] t\nmany\nx.log\n\n(2 ignored)", ""},
		{"empty", "list_directory", args{"dir_path": ".git", "ignore": []string{"*"}}, "Directory .git is empty.\n\n(3 ignored)", ""},
		{"no directory", "list_directory", args{"dir_path": "many"}, "many is a file, not a directory.", tool.NotADirectory},
		{"bad exclude", "grep_search", args{"pattern": "x", "exclude_pattern": "("}, "exclude_pattern is not a valid regular expression: error parsing regexp: missing closing ): `(`", tool.InvalidPattern},
	})
	out := r.run("grep_search", args{"pattern": "delta"})
	if n := strings.Count(out.Model, "\nL"); n != 100 || !strings.HasSuffix(out.Model, "[The results are incomplete: result limit reached.]\n") {
		t.Errorf("%d matches are shown: %s", n, short(out.Model))
	}
}

func TestGemini_CallsDeclareTheirAccesses(t *testing.T) {
	r := newRig(t, coding.GeminiFamily, coding.ToolConfig{})
	r.declares("replace", args{"file_path": "a", "instruction": "i", "old_string": "x", "new_string": "y"}, "read DIR/a", "write DIR/a")
	r.declares("write_file", args{"file_path": "a", "content": "x"}, "write DIR/a")
	r.declares("run_shell_command", args{"command": "make"}, "exec make")
	r.declares("list_directory", args{"dir_path": "/"}, "read /")
	r.declares("read_file", args{"file_path": "a"}, "read DIR/a")
	r.declares("grep_search", args{"pattern": "x", "dir_path": "sub"}, "read DIR/sub")
	r.declares("glob", args{"pattern": "*"}, "read DIR")
}
