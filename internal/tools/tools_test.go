package tools_test

import (
	"bytes"
	"encoding/json"
	"image"
	imagepng "image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/tool"
)

func TestTools_EverySpecIsComplete(t *testing.T) {
	want := []string{"read_file", "read_many_files", "write_file", "edit_file", "apply_patch", "delete_file",
		"list_dir", "glob", "grep", "view_image", "shell", "shell_output", "shell_input", "shell_stop", "update_plan",
		"delete_file", "view_image", "notebook_edit", "sleep", "monitor"}
	var got []string
	for _, tl := range slices.Concat(tools.New(tools.Config{}), tools.More(tools.Config{})) {
		s := tl.Spec()
		got = append(got, s.Name)
		if s.Version == "" || s.Description == "" || !s.Plan && (len(s.Permissions) == 0 || !s.ReadOnly && s.SideEffects == "") {
			t.Errorf("%s has an incomplete spec: %+v", s.Name, s)
		}
		for what, schema := range map[string]json.RawMessage{"input": s.Input, "output": s.Output} {
			var parsed jsonschema.Schema
			if err := json.Unmarshal(schema, &parsed); err != nil || parsed.Type != "object" {
				t.Errorf("%s: the %s schema is %s (%v)", s.Name, what, schema, err)
			}
			for name, p := range parsed.Properties {
				if what == "input" && p.Description == "" {
					t.Errorf("%s: argument %s has no description", s.Name, name)
				}
			}
			if what == "input" && (parsed.AdditionalProperties == nil || parsed.AdditionalProperties.Not == nil) {
				t.Errorf("%s accepts unknown arguments", s.Name)
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the tools are %v, want %v", got, want)
	}
}

// Every argument of the specification, with its type and whether it is required.
func TestTools_ArgumentsAreThoseOfTheSpecification(t *testing.T) {
	specs := map[string]jsonschema.Schema{}
	for _, tl := range tools.New(tools.Config{}) {
		var s jsonschema.Schema
		if err := json.Unmarshal(tl.Spec().Input, &s); err != nil {
			t.Fatal(err)
		}
		specs[tl.Spec().Name] = s
	}
	for name, want := range map[string]string{
		"read_file":   "file_path! string, offset integer, limit integer",
		"write_file":  "file_path! string, content! string",
		"edit_file":   "file_path! string, old_string! string, new_string! string, replace_all boolean",
		"shell":       "command! string, timeout_ms integer, description string",
		"grep":        "pattern! string, path string, glob_filter string, case_insensitive boolean, max_results integer",
		"glob":        "pattern! string, path string",
		"apply_patch": "patch! string",
		"delete_file": "path! string",
		"list_dir":    "path string, ignore_globs array, depth integer",
	} {
		s := specs[name]
		for _, arg := range strings.Split(want, ", ") {
			field, kind, _ := strings.Cut(arg, " ")
			field, required := strings.CutSuffix(field, "!")
			p, ok := s.Properties[field]
			if !ok || p.Type != kind || slices.Contains(s.Required, field) != required {
				t.Errorf("%s: %s is %+v, required %v; want %s", name, field, p, s.Required, arg)
			}
		}
	}
}

// png is an image of 3×2 pixels.
var png = func() []byte {
	var b bytes.Buffer
	if err := imagepng.Encode(&b, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		panic(err)
	}
	return b.Bytes()
}()

// samples returns one successful call of every tool.
func samples(r *rig) map[string]args {
	r.write("a.txt", "one\ntwo\n")
	r.write("gone.txt", "x")
	r.write("i.png", string(png))
	r.write("n.ipynb", `{"cells":[{"cell_type":"raw","source":""}],"nbformat":4}`)
	return map[string]args{
		"read_file": {"file_path": "a.txt"}, "read_many_files": {"paths": []string{"a.txt"}},
		"write_file": {"file_path": "new.txt", "content": "x"}, "edit_file": {"file_path": "a.txt", "old_string": "two", "new_string": "2"},
		"apply_patch": {"patch": "*** Begin Patch\n*** Add File: p.txt\n+x\n*** End Patch"}, "delete_file": {"path": "gone.txt"},
		"list_dir": {}, "glob": {"pattern": "*"}, "grep": {"pattern": "one"}, "view_image": {"path": "i.png"},
		"shell": {"command": "cat", "background": true}, "shell_input": {"id": "1", "text": "x\n", "wait_ms": 0},
		"shell_output": {"id": "1"}, "shell_stop": {"id": "1"}, "update_plan": {"plan": []any{}},
		"notebook_edit": {"notebook_path": "n.ipynb", "cell_id": "1", "edit_mode": "delete"},
		"sleep":         {"seconds": 0.001}, "monitor": {"ids": []string{"1"}, "pattern": "x", "timeout_seconds": 0.001},
	}
}

func TestTools_PayloadsFitTheirOutputSchemas(t *testing.T) {
	r := newRig(t, tools.Config{})
	calls := samples(r)
	for _, spec := range r.pipe.Registry.Specs() {
		out := r.run(spec.Name, calls[spec.Name])
		if !out.OK() {
			t.Fatalf("%s: %v", spec.Name, out.Result.Error)
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal(spec.Output, &schema); err != nil {
			t.Fatal(err)
		}
		schema.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
		resolved, err := schema.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		payload := map[string]any{"output": tool.String(out.Result.Output), "model_output": out.Model}
		for k, v := range out.Result.Fields {
			payload[k] = v
		}
		b, _ := json.Marshal(payload)
		var plain any
		json.Unmarshal(b, &plain)
		if err := resolved.Validate(plain); err != nil {
			t.Errorf("%s: %s does not fit: %v", spec.Name, b, err)
		}
	}
}

// Malformed arguments of every kind, for every tool, give an error with a stable code and change nothing.
func TestTools_MalformedArgumentsChangeNothing(t *testing.T) {
	r := newRig(t, tools.Config{})
	valid := samples(r)
	before := r.tree()
	mistyped := []any{nil, 3.5, 1e300, -1e18, []any{1}, []any{[]any{}}, map[string]any{}, map[string]any{"a": 1}}
	badPaths := []any{"", "\x00", ".", "a.txt/x", "a.txt/", strings.Repeat("x", 300), "\xff\x00"}
	for _, name := range r.pipe.Registry.Names() {
		a := valid[name]
		for field := range a {
			bad := mistyped
			if field == "file_path" || field == "path" || field == "notebook_path" {
				bad = append(slices.Clone(bad), badPaths...)
			}
			if field == "wait_ms" {
				bad = bad[:3]
			}
			if strings.HasSuffix(field, "seconds") {
				bad = append(bad[:1:1], bad[3:]...)
			}
			for _, v := range bad {
				c := maps.Clone(a)
				c[field] = v
				out := r.run(name, c)
				if out.OK() || out.Result.Error.Code == tool.InternalError || out.Result.Error.Message == "" || out.Model == "" {
					t.Errorf("%s with %s = %.40v: %+v", name, field, v, out.Result.Error)
				}
			}
		}
		for _, raw := range []string{`null`, `[]`, `{`, `{"x":1}`, `"x"`, `{"a":1}{}`, "\xff"} {
			call := r.request(name, nil)
			call.Args = json.RawMessage(raw)
			if out := r.pipe.Run(t.Context(), call); out.OK() || out.Result.Error.Code != tool.ValidationError {
				t.Errorf("%s with %s: %+v", name, raw, out.Result.Error)
			}
		}
	}
	if after := r.tree(); !maps.Equal(before, after) {
		t.Errorf("the files were %q and are %q", before, after)
	}
}

func TestTools_ReadOnlyEnvironmentRefusesEveryChange(t *testing.T) {
	r := newRig(t, tools.Config{})
	calls := samples(r)
	before := r.tree()
	r.env = env.ReadOnly(r.env)
	for _, name := range []string{"write_file", "edit_file", "apply_patch", "delete_file", "notebook_edit", "shell"} {
		r.fails(tool.PermissionDenied, name, calls[name], "read-only")
	}
	if after := r.tree(); len(after) != len(before) {
		t.Errorf("files were %v and are %v", before, after)
	}
}

func TestTools_ConfinedEnvironmentKeepsToItsRoots(t *testing.T) {
	r := newRig(t, tools.Config{})
	outside, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	above, err := filepath.Rel(r.dir, filepath.Join(outside, "secret"))
	if err != nil {
		t.Fatal(err)
	}
	r.link(outside, "out")
	e, err := local.New(local.Config{Dir: r.dir, Roots: []string{"."}, SpoolDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	r.env = e
	for _, p := range []string{"out/secret", outside + "/secret", above} {
		r.fails(tool.PermissionDenied, "read_file", args{"file_path": p}, "outside")
		r.fails(tool.PermissionDenied, "edit_file", args{"file_path": p, "old_string": "secret", "new_string": "x"})
		r.fails(tool.PermissionDenied, "write_file", args{"file_path": p, "content": "x"})
		r.fails(tool.PermissionDenied, "delete_file", args{"path": p})
		r.fails(tool.PermissionDenied, "apply_patch", args{"patch": "*** Begin Patch\n*** Add File: " + p + "\n+x\n*** End Patch"})
		r.fails(tool.PermissionDenied, "apply_patch", args{"patch": "*** Begin Patch\n*** Delete File: " + p + "\n*** End Patch"})
	}
	r.fails(tool.PermissionDenied, "list_dir", args{"path": "out"})
	r.fails(tool.PermissionDenied, "glob", args{"pattern": "*", "path": outside})
	r.fails(tool.PermissionDenied, "grep", args{"pattern": "secret", "path": "out"})
	r.fails(tool.PermissionDenied, "shell", args{"command": "ls", "workdir": outside})
	if b, err := os.ReadFile(filepath.Join(outside, "secret")); err != nil || string(b) != "secret" {
		t.Errorf("the file outside is %q, %v", b, err)
	}
}

func TestTools_NativeNamesAndArgumentsReachThem(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.write("a.txt", "one\ntwo\nONE\n")
	for _, c := range []struct {
		name string
		args args
		want string
	}{
		{"Read", args{"file_path": r.path("a.txt"), "offset": 2, "limit": 1}, "2 | two"},
		{"Write", args{"file_path": r.path("w.txt"), "content": "x"}, "Created w.txt"},
		{"Edit", args{"file_path": r.path("a.txt"), "old_string": "two", "new_string": "2", "replace_all": false}, "1 replacement"},
		{"Bash", args{"command": "echo hi", "timeout": 5000, "description": "says hi"}, "hi\n"},
		{"Grep", args{"pattern": "one", "glob": "*.txt", "-i": true, "-n": true, "-A": 1, "output_mode": "content", "head_limit": 5}, "a.txt:3:ONE"},
		{"Grep", args{"pattern": "one", "output_mode": "files_with_matches"}, "a.txt\n"},
		{"Glob", args{"pattern": "*.txt", "path": r.dir}, "a.txt"},
		{"LS", args{"path": r.dir, "ignore": []string{"w*"}}, "a.txt  "},

		{"exec_command", args{"cmd": "echo hi", "workdir": r.dir, "yield_time_ms": 1000, "max_output_tokens": 100, "login": false}, "hi\n"},
		{"shell_command", args{"command": "echo hi", "timeout_ms": 5000, "login": true}, "hi\n"},
		{"grep_files", args{"pattern": "ONE", "include": "*.txt", "limit": 3}, "a.txt:3:ONE"},

		{"replace", args{"file_path": "a.txt", "instruction": "say it in words", "old_string": "2", "new_string": "two", "allow_multiple": true}, "1 replacement"},
		{"run_shell_command", args{"command": "pwd", "dir_path": r.dir, "is_background": false}, r.dir},
		{"list_directory", args{"dir_path": r.dir}, "a.txt  "},
		{"grep_search", args{"pattern": "o.e", "dir_path": ".", "include_pattern": "*.txt", "total_max_matches": 9}, "a.txt:1:one"},
		{"search_file_content", args{"pattern": "one", "include": "*.txt"}, "a.txt:1:one"},
	} {
		if got := r.ok(c.name, c.args); !strings.Contains(got, c.want) {
			t.Errorf("%s %v gives %q, want it to have %q", c.name, c.args, got, c.want)
		}
	}
}

func TestTools_NativeNamesReachBackgroundProcesses(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.ok("Bash", args{"command": "while read l; do echo got $l; done", "run_in_background": true})
	got := r.ok("write_stdin", args{"session_id": 1, "chars": "a\n", "yield_time_ms": 0})
	for deadline := time.Now().Add(time.Minute); !strings.Contains(got, "got a") && time.Now().Before(deadline); {
		got = r.ok("BashOutput", args{"bash_id": "1", "filter": "."})
	}
	if got := r.ok("TaskOutput", args{"task_id": "1", "block": false, "timeout": 1}); !strings.Contains(got, "still running") {
		t.Errorf("it says %q", got)
	}
	if got := r.ok("KillShell", args{"shell_id": "1"}); strings.Contains(got, "still running") {
		t.Errorf("it says %q", got)
	}
}

// Defaults that users rely on.
func TestTools_Defaults(t *testing.T) {
	if got := []any{tools.DefaultTimeout, tools.MaxTimeout, int64(tools.MaxFileSize)}; !slices.Equal(got, []any{10 * time.Second, 600 * time.Second, int64(67108864)}) {
		t.Errorf("got timeouts and file size %v, want 10s, 10m and 64 MiB", got)
	}
	limits := map[string]tool.Limit{
		"read_file": {Chars: 50_000, Lines: -1, Mode: "head_tail"}, "read_many_files": {Chars: 50_000, Lines: -1, Mode: "head_tail"},
		"write_file": {Chars: 1_000, Lines: -1, Mode: "tail"}, "edit_file": {Chars: 10_000, Lines: -1, Mode: "tail"},
		"apply_patch": {Chars: 10_000, Lines: -1, Mode: "tail"}, "delete_file": {}, "list_dir": {}, "view_image": {}, "update_plan": {},
		"glob": {Chars: 20_000, Lines: 500, Mode: "head"}, "grep": {Chars: 20_000, Lines: 200, Mode: "tail"},
		"shell": {Chars: 30_000, Lines: 256, Mode: "head_tail"}, "shell_output": {Chars: 30_000, Lines: 256, Mode: "head_tail"},
		"shell_input": {Chars: 30_000, Lines: 256, Mode: "head_tail"}, "shell_stop": {Chars: 30_000, Lines: 256, Mode: "head_tail"},
	}
	readOnly := []string{"read_file", "read_many_files", "list_dir", "glob", "grep", "view_image", "shell_output"}
	for _, tl := range tools.New(tools.Config{}) {
		s := tl.Spec()
		if want, ok := limits[s.Name]; !ok || s.Limit != want {
			t.Errorf("%s: got limit %+v, want %+v", s.Name, s.Limit, want)
		}
		if want := slices.Contains(readOnly, s.Name); s.ReadOnly != want {
			t.Errorf("%s: read-only is %v, want %v", s.Name, s.ReadOnly, want)
		}
		if s.Name == "shell" && !strings.Contains(s.Description, "(default 10000, at most 600000)") {
			t.Errorf("shell does not state its timeouts: %q", s.Description)
		}
	}
}

func TestTools_AliasesNeedTheSamePermission(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.pipe.Policy = nil // the default, with nobody to ask
	r.write("f", "x\n")
	for _, c := range []struct {
		name string
		args args
	}{
		{"Write", args{"file_path": "f", "content": "y"}}, {"Edit", args{"file_path": "f", "old_string": "x", "new_string": "y"}},
		{"replace", args{"file_path": "f", "instruction": "i", "old_string": "x", "new_string": "y"}},
		{"Bash", args{"command": "rm f"}}, {"exec_command", args{"cmd": "rm f"}}, {"shell_command", args{"command": "rm f"}}, {"run_shell_command", args{"command": "rm f"}},
	} {
		r.fails(tool.PermissionDenied, c.name, c.args, "no approver is configured")
	}
	if got := r.read("f"); got != "x\n" {
		t.Errorf("got file %q, want it unchanged", got)
	}
}
