//go:build unix

package coding_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// profileRig runs the tools of a profile.
func profileRig(t testing.TB, p *coding.Profile) *rig {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e, err := local.New(local.Config{Dir: dir, SpoolDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	reg, err := p.Registry()
	if err != nil {
		t.Fatal(err)
	}
	return &rig{t, dir, e, &tool.Pipeline{Registry: reg, Policy: policy.AllowAll{}}}
}

func claudeRig(t testing.TB) *rig { return profileRig(t, coding.Anthropic("claude-opus-5").Native()) }
func codexRig(t testing.TB) *rig  { return profileRig(t, coding.OpenAI("gpt-5.5").Native()) }
func geminiRig(t testing.TB) *rig { return profileRig(t, coding.Gemini("gemini-3.8-flash").Native()) }

// signature is the parameters of a schema in one line: name:type, * for required ones.
func signature(t *testing.T, schema json.RawMessage) string {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		t.Fatal(err)
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		text := name
		if slices.Contains(s.Required, name) {
			text += "*"
		}
		text += ":" + p.Type
		if p.Enum != nil {
			text += fmt.Sprint(p.Enum)
		}
		if p.Items != nil && p.Items.Type == "object" {
			b, _ := json.Marshal(p.Items)
			text += "(" + signature(t, b) + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

func TestNative_SchemasAreTheVendors(t *testing.T) {
	for _, c := range []struct {
		profile *coding.Profile
		want    map[string]string
		order   []string
	}{
		{
			coding.OpenAI("gpt-5.5").Native(),
			map[string]string{
				"exec_command": "cmd*:string justification:string login:boolean max_output_tokens:number prefix_rule:array " +
					"sandbox_permissions:string[use_default require_escalated] shell:string tty:boolean workdir:string yield_time_ms:number",
				"write_stdin": "chars:string max_output_tokens:number session_id*:number yield_time_ms:number",
				"update_plan": "explanation:string plan*:array(status*:string[pending in_progress completed] step*:string)",
				"apply_patch": "input*:string",
				"view_image":  "detail:string[high original] path*:string",
			},
			[]string{"exec_command", "write_stdin", "update_plan", "apply_patch", "view_image"},
		},
		{
			coding.Anthropic("claude-opus-5").Native(),
			map[string]string{
				"Read":  "allow_large:boolean file_path*:string limit:number offset:number pages:string",
				"Edit":  "file_path*:string new_string*:string old_string*:string replace_all:boolean",
				"Write": "content*:string file_path*:string",
				"Bash":  "command*:string dangerouslyDisableSandbox:boolean description:string run_in_background:boolean timeout:number",
				"Glob":  "path:string pattern*:string",
				"Grep": "-A:number -B:number -C:number -i:boolean -n:boolean -o:boolean context:number glob:string head_limit:number multiline:boolean " +
					"offset:number output_mode:string[content files_with_matches count] path:string pattern*:string type:string",
				"TodoWrite":  "todos*:array(activeForm*:string content*:string status*:string[pending in_progress completed])",
				"TaskOutput": "block:boolean task_id*:string timeout:number",
				"TaskStop":   "shell_id:string task_id:string",
			},
			[]string{"Bash", "Glob", "Grep", "Read", "Edit", "Write", "TodoWrite", "TaskOutput", "TaskStop"},
		},
		{
			coding.Gemini("gemini-3.8-flash").Native(),
			map[string]string{
				"read_file":      "end_line:number file_path*:string start_line:number",
				"replace":        "allow_multiple:boolean file_path*:string instruction*:string new_string*:string old_string*:string",
				"write_file":     "content*:string file_path*:string",
				"list_directory": "dir_path*:string file_filtering_options:object ignore:array",
				"glob":           "case_sensitive:boolean dir_path:string pattern*:string respect_gemini_ignore:boolean respect_git_ignore:boolean",
				"grep_search": "after:number before:number case_sensitive:boolean context:number dir_path:string exclude_pattern:string fixed_strings:boolean " +
					"include_pattern:string max_matches_per_file:number names_only:boolean no_ignore:boolean pattern*:string total_max_matches:number",
				"run_shell_command": "command*:string delay_ms:number description:string dir_path:string is_background:boolean",
				"write_todos":       "todos*:array(description*:string status*:string[pending in_progress completed cancelled blocked])",
			},
			[]string{"list_directory", "read_file", "grep_search", "glob", "replace", "write_file", "run_shell_command", "write_todos", "shell_output", "shell_input", "shell_stop"},
		},
	} {
		if got := toolNames(t, c.profile); !slices.Equal(got, c.order) {
			t.Errorf("%s: the tools are %v, want %v", c.profile.Family, got, c.order)
		}
		for name, want := range c.want {
			spec := specOf(t, c.profile, name)
			if got := signature(t, spec.Input); got != want {
				t.Errorf("%s takes\n%s, want\n%s", name, got, want)
			}
			if !strings.Contains(string(spec.Input), `"additionalProperties":false`) {
				t.Errorf("%s takes any argument", name)
			}
			if len(spec.Permissions) == 0 && !strings.Contains(name, "odo") && name != "update_plan" || spec.Description == "" {
				t.Errorf("%s is described as %+v", name, spec)
			}
		}
	}
}

func TestNative_InstructionsSpeakOfTheVendorsNames(t *testing.T) {
	ours := regexp.MustCompile(`\b(edit_file|list_dir|read_many_files|shell_output)\b|\{\{`)
	for family, p := range profiles() {
		n := p.Native()
		if family == "generic" {
			if n.Instructions != p.Instructions || !slices.Equal(toolNames(t, n), toolNames(t, p)) {
				t.Error("the generic family has no vendor, and is changed")
			}
			continue
		}
		if n.Instructions == p.Instructions {
			t.Errorf("%s: the instructions did not change", family)
		}
		if found := ours.FindString(n.Instructions); found != "" && (family != "gemini" || found != "shell_output") {
			t.Errorf("%s: the instructions speak of %s", family, found)
		}
		again := n.Native()
		if again.Instructions != n.Instructions || !slices.Equal(toolNames(t, again), toolNames(t, n)) {
			t.Errorf("%s: native twice is not native", family)
		}
		p.Instructions = "The host's own."
		if got := p.Native().Instructions; got != "The host's own." {
			t.Errorf("%s: the host's instructions became %q", family, got)
		}
	}
}

func TestNative_CallsAreJudgedAsOursAre(t *testing.T) {
	r := claudeRig(t)
	r.declares("Read", args{"file_path": "a"}, "read "+r.path("a"))
	r.declares("Edit", args{"file_path": "a", "old_string": "x", "new_string": "y"}, "read "+r.path("a"), "write "+r.path("a"))
	r.declares("Bash", args{"command": "rm -rf x"}, "exec rm -rf x")
	r.declares("Grep", args{"pattern": "x", "path": "../.."}, "read "+filepath.Dir(filepath.Dir(r.dir)))
	r = codexRig(t)
	r.declares("exec_command", args{"cmd": "make"}, "exec make")
	r.declares("write_stdin", args{"session_id": 1, "chars": "yes\n"}, "exec yes\n")
	r.declares("write_stdin", args{"session_id": 1})
	r = geminiRig(t)
	r.declares("replace", args{"file_path": "a", "instruction": "i", "old_string": "x", "new_string": "y"}, "read "+r.path("a"), "write "+r.path("a"))
	r.declares("run_shell_command", args{"command": "make"}, "exec make")
	r.declares("list_directory", args{"dir_path": "/"}, "read /")
}

func TestNativeClaude_ReadNumbersLinesWithATab(t *testing.T) {
	r := claudeRig(t)
	r.write("a.txt", "one\n2 | two\n\nfour\n")
	r.write("empty", "")
	if got := r.ok("Read", args{"file_path": "a.txt"}); got != "1\tone\n2\t2 | two\n3\t\n4\tfour\n" {
		t.Errorf("got %q", got)
	}
	if got := r.ok("Read", args{"file_path": "a.txt", "offset": 2, "limit": 1}); !strings.HasPrefix(got, "2\t2 | two\n[") {
		t.Errorf("got %q", got)
	}
	for _, a := range []args{{"file_path": "empty"}, {"file_path": "a.txt", "offset": 9}} {
		if got := r.ok("Read", a); !strings.HasPrefix(got, "<system-reminder>") {
			t.Errorf("%v: got %q", a, got)
		}
	}
	r.fails(tool.FileNotFound, "Read", args{"file_path": "none"}, "<tool_use_error>", "Use Glob")
	r.fails(tool.UnsupportedMedia, "Read", args{"file_path": "a.txt", "pages": "1-2"})
}

func TestNativeClaude_BashReportsItsExitCodeFirst(t *testing.T) {
	r := claudeRig(t)
	if got := r.ok("Bash", args{"command": "true"}); got != "(Bash completed with no output)" {
		t.Errorf("got %q", got)
	}
	out := r.run("Bash", args{"command": "echo no; exit 3"})
	if out.OK() || out.Model != "Exit code 3\nno\n" {
		t.Errorf("the model reads %q", out.Model)
	}
	out = r.run("Bash", args{"command": "head -c 200000 /dev/zero | tr '\\0' x; exit 4"})
	if got := tool.String(out.Result.Output); len(got) != 200_000+len("Exit code 4\n") || out.Result.Output.Len() != int64(len(got)) {
		t.Errorf("%d bytes of output", len(got))
	}
	if len(out.Model) > 40_000 || !strings.HasPrefix(out.Model, "Exit code 4\nxxx") {
		t.Errorf("the model reads %d bytes: %.40q", len(out.Model), out.Model)
	}
	r.fails(tool.ShellTimeout, "Bash", args{"command": "echo on; exec sleep 60", "timeout": 300}, "on\n", "the timeout parameter")
}

func TestNativeClaude_BackgroundTasks(t *testing.T) {
	r := claudeRig(t)
	if got := r.ok("Bash", args{"command": "echo hello", "run_in_background": true}); !strings.Contains(got, "TaskOutput") || strings.Contains(got, "shell_") {
		t.Errorf("got %q", got)
	}
	if got := r.ok("TaskOutput", args{"task_id": "1", "timeout": 60_000}); got != "hello\n[exited with code 0]" {
		t.Errorf("got %q", got)
	}
	r.ok("Bash", args{"command": "exec sleep 600", "run_in_background": true})
	if got := r.ok("TaskOutput", args{"task_id": "2", "block": false}); got != "[still running]" {
		t.Errorf("got %q", got)
	}
	if got := r.ok("TaskStop", args{"task_id": "2"}); !strings.Contains(got, "exited") {
		t.Errorf("got %q", got)
	}
	r.ok("BashOutput", args{"bash_id": "1"})
	r.fails(tool.ProcessNotFound, "TaskStop", args{"shell_id": "7"})
}

func TestNativeClaude_Grep(t *testing.T) {
	r := claudeRig(t)
	r.write("a.go", "alpha\nbeta alpha\ngamma\n")
	r.write("b.go", "Alpha\n")
	r.write(".hidden", "alpha\n")
	r.write(".git/config", "alpha\n")
	for _, c := range []struct {
		name string
		args args
		want string
	}{
		{"files by default, hidden ones too, no VCS directories", args{"pattern": "alpha"}, "Found 2 files\n.hidden\na.go"},
		{"one file", args{"pattern": "Alpha"}, "Found 1 file\nb.go"},
		{"content with numbers", args{"pattern": "alpha", "glob": "*.go", "output_mode": "content"}, "a.go:1:alpha\na.go:2:beta alpha"},
		{"without numbers", args{"pattern": "beta", "output_mode": "content", "-n": false}, "a.go:beta alpha"},
		{"context", args{"pattern": "gamma", "output_mode": "content", "-B": 1}, "a.go-2-beta alpha\na.go:3:gamma"},
		{"only the matches", args{"pattern": "a[lm]", "output_mode": "content", "path": "a.go", "-o": true}, "a.go:1:al\na.go:2:al\na.go:3:am"},
		{"counts", args{"pattern": "alpha", "-i": true, "type": "go", "output_mode": "count"}, "a.go:2\nb.go:1\n\nFound 3 matches in 2 files."},
		{"window", args{"pattern": "a", "output_mode": "content", "path": "a.go", "head_limit": 1, "offset": 1}, "a.go:2:beta alpha\n\n[The results stop at head_limit 1. Use offset 2 for more.]"},
		{"all", args{"pattern": "a", "output_mode": "content", "path": "a.go", "head_limit": 0, "offset": 2}, "a.go:3:gamma"},
		{"no files", args{"pattern": "zeta"}, "No files found"},
		{"no matches", args{"pattern": "zeta", "output_mode": "content"}, "No matches found"},
	} {
		if got := r.ok("Grep", c.args); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	r.fails(tool.InvalidPattern, "Grep", args{"pattern": "("}, "<tool_use_error>")
	r.fails(tool.ValidationError, "Grep", args{"pattern": "x", "output_mode": "lines"})
	if got := r.ok("Glob", args{"pattern": "*.go"}); !slices.Equal(slices.Sorted(slices.Values(strings.Split(got, "\n"))), []string{"a.go", "b.go"}) {
		t.Errorf("Glob: %q", got)
	}
	if got := r.ok("Glob", args{"pattern": "*.rs"}); got != "No files found" {
		t.Errorf("Glob: %q", got)
	}
}

var codexForm = regexp.MustCompile(`^Chunk ID: [0-9a-f]{6}\nWall time: \d+\.\d{4} seconds\n(Process exited with code \d+|Process running with session ID \d+)\nOriginal token count: (\d+)\nOutput:\n`)

func codexParts(t *testing.T, output string) (state, text string) {
	t.Helper()
	m := codexForm.FindStringSubmatch(output)
	if m == nil {
		t.Fatalf("the output has another form: %q", output)
	}
	return m[1], output[len(m[0]):]
}

func TestNativeCodex_ExecCommand(t *testing.T) {
	r := codexRig(t)
	state, text := codexParts(t, r.ok("exec_command", args{"cmd": "cat; pwd; exit 3", "workdir": r.dir}))
	if state != "Process exited with code 3" || text != r.dir+"\n" {
		t.Errorf("%s, %q", state, text)
	}
	r.fails(tool.ValidationError, "exec_command", args{"cmd": " "}, "exec_command failed for ` `")
	out := r.run("exec_command", args{"cmd": "head -c 3000 /dev/zero | tr '\\0' y", "max_output_tokens": 100})
	if len(out.Model) > 800 || len(tool.String(out.Result.Output)) < 3000 {
		t.Errorf("the model reads %d bytes of %d", len(out.Model), out.Result.Output.Len())
	}
}

func TestNativeCodex_CommandThatOutlivesTheYieldIsASession(t *testing.T) {
	r := codexRig(t)
	state, _ := codexParts(t, r.ok("exec_command", args{"cmd": "while read line; do echo got $line; done; echo bye", "tty": true, "yield_time_ms": 250}))
	if state != "Process running with session ID 1" {
		t.Fatalf("%s", state)
	}
	var all string
	for range 20 {
		_, text := codexParts(t, r.ok("write_stdin", args{"session_id": 1, "chars": "x\n", "yield_time_ms": 250}))
		if all += text; strings.Contains(all, "got x") {
			break
		}
	}
	if !strings.Contains(all, "got x") {
		t.Errorf("it printed %q", all)
	}
	state, _ = codexParts(t, r.ok("write_stdin", args{"session_id": 1, "chars": "\x03"}))
	if !strings.HasPrefix(state, "Process exited") {
		t.Errorf("after the interrupt: %s", state)
	}
	r.fails(tool.ProcessNotFound, "write_stdin", args{"session_id": 9})
}

func TestNativeCodex_InterruptedCallLeavesNoProcess(t *testing.T) {
	r := codexRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	call := r.request("exec_command", args{"cmd": "touch started; exec sleep 600", "yield_time_ms": 30_000})
	done := make(chan tool.Outcome)
	go func() { done <- r.pipe.Run(ctx, call) }()
	awaitFile(t, r.path("started"))
	cancel()
	if out := <-done; out.OK() || out.Result.Error.Code != tool.Cancelled {
		t.Errorf("the call gave %+v", out.Result.Error)
	}
	state, _ := codexParts(t, r.ok("write_stdin", args{"session_id": 1}))
	if !strings.HasPrefix(state, "Process exited") {
		t.Errorf("afterwards: %s", state)
	}
}

func awaitFile(t *testing.T, path string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); <-tick.C {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	t.Fatalf("%s did not appear", path)
}

func TestNativeCodex_ApplyPatch(t *testing.T) {
	r := codexRig(t)
	text := "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"
	call := llm.ToolCall{Name: "apply_patch", Arguments: text, Custom: true}
	out := r.pipe.Run(t.Context(), tool.Call{Name: "apply_patch", Args: r.pipe.Registry.Arguments(call), Env: r.env})
	if out.Model != "Success. Updated the following files:\nA a\n" {
		t.Errorf("the model reads %q", out.Model)
	}
	r.fails(tool.FileNotFound, "apply_patch", args{"input": "*** Begin Patch\n*** Update File: none\n-x\n+y\n*** End Patch"}, "apply_patch verification failed: ")
	if spec := specOf(t, coding.OpenAI("gpt-4.1").Native(), "apply_patch"); spec.Freeform != nil {
		t.Error("a model without freeform tools gets one")
	}
	if spec := specOf(t, coding.OpenAI("gpt-5.5").Native(), "apply_patch"); spec.Freeform == nil {
		t.Error("a model with freeform tools does not get one")
	}
}

func TestNative_PlansHaveAtMostOneStepInProgress(t *testing.T) {
	step := func(kind, status string) map[string]any {
		return map[string]any{kind: "do it", "status": status}
	}
	r := codexRig(t)
	if got := r.ok("update_plan", args{"plan": []any{step("step", "in_progress"), step("step", "pending")}}); got != "Plan updated" {
		t.Errorf("got %q", got)
	}
	r.fails(tool.ValidationError, "update_plan", args{"plan": []any{step("step", "in_progress"), step("step", "in_progress")}})
	r.fails(tool.ValidationError, "update_plan", args{"plan": []any{step("step", "doing")}})
	todo := step("content", "completed")
	todo["activeForm"] = "Doing it"
	claudeRig(t).ok("TodoWrite", args{"todos": []any{todo}})
	geminiRig(t).ok("write_todos", args{"todos": []any{step("description", "blocked")}})
}

func TestNativeGemini_ReadFile(t *testing.T) {
	r := geminiRig(t)
	r.write("a.txt", "one\ntwo\nthree\n")
	if got := r.ok("read_file", args{"file_path": "a.txt"}); got != "one\ntwo\nthree" {
		t.Errorf("got %q", got)
	}
	got := r.ok("read_file", args{"file_path": "a.txt", "start_line": 2, "end_line": 2})
	if !strings.HasPrefix(got, "IMPORTANT:") || !strings.Contains(got, "\nStatus: Showing lines 2-2 of 3.\n") || !strings.HasSuffix(got, "--- FILE CONTENT (truncated) ---\ntwo") {
		t.Errorf("got %q", got)
	}
	r.fails(tool.ValidationError, "read_file", args{"file_path": "a.txt", "start_line": 3, "end_line": 2})
	r.fails(tool.ValidationError, "read_file", args{"file_path": "a.txt", "start_line": 9})
	r.fails(tool.FileNotFound, "read_file", args{"file_path": "none"}, "list_directory")
}

func TestNativeGemini_ReplaceAndWrite(t *testing.T) {
	r := geminiRig(t)
	r.ok("write_file", args{"file_path": "a.txt", "content": "one one\n"})
	r.fails(tool.EditConflict, "replace", args{"file_path": "a.txt", "instruction": "count", "old_string": "one", "new_string": "1"})
	r.ok("replace", args{"file_path": "a.txt", "instruction": "count", "old_string": "one", "new_string": "1", "allow_multiple": true})
	r.ok("replace", args{"file_path": "b.txt", "instruction": "create", "old_string": "", "new_string": "new\n"})
	if got := r.read("a.txt") + r.read("b.txt"); got != "1 1\nnew\n" {
		t.Errorf("the files hold %q", got)
	}
}

func TestNativeGemini_RunShellCommand(t *testing.T) {
	r := geminiRig(t)
	r.write("sub/x", "")
	for _, c := range []struct {
		args args
		want string
	}{
		{args{"command": "ls", "dir_path": "sub"}, "<untrusted_context>\nOutput: x\n\n</untrusted_context>"},
		{args{"command": "exit 2"}, "<untrusted_context>\nOutput: (empty)\nExit Code: 2\n</untrusted_context>"},
		{args{"command": "kill -9 $$"}, "<untrusted_context>\nOutput: (empty)\nExit Code: 137\nSignal: SIGKILL\n</untrusted_context>"},
	} {
		if got := r.ok("run_shell_command", c.args); got != c.want {
			t.Errorf("%v: %q, want %q", c.args, got, c.want)
		}
	}
	got := r.ok("run_shell_command", args{"command": "echo up; exec sleep 600", "is_background": true, "delay_ms": 300})
	if !strings.Contains(got, "id 1") || !strings.Contains(got, "up\n[still running]") {
		t.Errorf("got %q", got)
	}
	r.ok("shell_stop", args{"id": "1"})
}

func TestNativeGemini_Search(t *testing.T) {
	r := geminiRig(t)
	r.write(".git/HEAD", "ref: refs/heads/main\n")
	r.write(".gitignore", "*.log\n")
	r.write("src/a.go", "Alpha\nbeta\nalpha skip\n")
	r.write("x.log", "alpha\n")
	for _, c := range []struct {
		name, tool string
		args       args
		want       string
	}{
		{"matches", "grep_search", args{"pattern": "alpha"}, "Found 2 matches for pattern \"alpha\" in path \".\":\n---\nFile: src/a.go\nL1: Alpha\nL3: alpha skip\n---\n"},
		{"exclude", "grep_search", args{"pattern": "alpha", "exclude_pattern": "skip", "after": 1}, "Found 1 match for pattern \"alpha\" in path \".\":\n---\nFile: src/a.go\nL1: Alpha\nL2- beta\n---\n"},
		{"names", "grep_search", args{"pattern": "ALPHA", "names_only": true, "no_ignore": true}, "Found 2 files for pattern \"ALPHA\" in path \".\":\nsrc/a.go\nx.log\n"},
		{"case", "grep_search", args{"pattern": "ALPHA", "case_sensitive": true}, "No matches found for pattern \"ALPHA\" in path \".\"."},
		{"glob", "glob", args{"pattern": "**/*.GO"}, "Found 1 file for the pattern \"**/*.GO\" in .:\n" + r.path("src/a.go") + "\n"},
		{"glob without ignoring", "glob", args{"pattern": "*.log", "respect_git_ignore": false}, "Found 1 file for the pattern \"*.log\" in .:\n" + r.path("x.log") + "\n"},
		{"no glob", "glob", args{"pattern": "*.rs"}, "No files found for the pattern \"*.rs\" in ."},
		{"list", "list_directory", args{"dir_path": ".", "ignore": []string{".git*"}}, "Directory listing for .:\n[DIR] src\nx.log"},
	} {
		if got := r.ok(c.tool, c.args); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	r.fails(tool.InvalidPattern, "grep_search", args{"pattern": "x", "exclude_pattern": "("})
}
