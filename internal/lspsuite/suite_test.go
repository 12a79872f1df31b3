package lspsuite

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/env/sandbox"
	"github.com/reins-agent/reins/internal/lsp"
	"github.com/reins-agent/reins/internal/lsptools"
	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// project is a small project in one language. Each file other has a function that calls the function in main.
type project struct {
	name     string // server name
	main     string // file that defines the function compute
	setup    map[string]string
	other    func(i int) (name, text string)
	old, bad string // an edit of main that breaks the build
	says     string // substring of the diagnostic
	compiler []string
}

var projects = []project{
	{
		name: "gopls", main: "main.go",
		setup: map[string]string{
			"go.mod":  "module example.com/p\n\ngo 1.24\n",
			"main.go": "package main\n\n// Adds. 😀\nfunc compute(a int) int { return a + 1 }\n\nfunc main() { println(compute(1)) }\n",
		},
		other: func(i int) (string, string) {
			return fmt.Sprintf("f%02d.go", i), fmt.Sprintf("package main\n\nfunc use%d() (string, int) { return \"😀\", compute(%d) }\n", i, i)
		},
		old: "return a + 1", bad: "return a + missing", says: "undefined: missing", compiler: []string{"go", "vet", "./..."},
	}, {
		name: "typescript-language-server", main: "main.ts",
		setup: map[string]string{
			"tsconfig.json": `{"compilerOptions": {"strict": true, "noEmit": true, "skipLibCheck": true, "types": []}}`,
			"main.ts":       "/** Adds. 😀 */\nexport function compute(a: number): number { return a + 1 }\n",
		},
		other: func(i int) (string, string) {
			return fmt.Sprintf("f%02d.ts", i), fmt.Sprintf("import { compute } from \"./main\"\nexport function use%d() { return \"😀\" + compute(%d) }\n", i, i)
		},
		old: "return a + 1", bad: "return a + missing", says: "Cannot find name 'missing'", compiler: []string{"tsc", "--noEmit"},
	}, {
		name: "pyright-langserver", main: "main.py",
		setup: map[string]string{
			"pyrightconfig.json": `{}`,
			"main.py":            "def compute(a: int) -> int:\n    \"\"\"Adds. 😀\"\"\"\n    return a + 1\n",
		},
		other: func(i int) (string, string) {
			return fmt.Sprintf("f%02d.py", i), fmt.Sprintf("from main import compute\n\ndef use%d():\n    return \"😀\", compute(%d)\n", i, i)
		},
		old: "return a + 1", bad: "return a + missing", says: `"missing" is not defined`, compiler: []string{"pyright"},
	}, {
		name: "clangd", main: "main.c",
		setup: map[string]string{
			"compile_flags.txt": "-Wall\n",
			"main.h":            "int compute(int a);\n",
			"main.c":            "#include \"main.h\"\n/* Adds. 😀 */\nint compute(int a) { return a + 1; }\n",
		},
		other: func(i int) (string, string) {
			return fmt.Sprintf("f%02d.c", i), fmt.Sprintf("#include \"main.h\"\nint use%d(void) { return /* 😀 */ compute(%d); }\n", i, i)
		},
		old: "return a + 1", bad: "return a + missing", says: "undeclared identifier 'missing'", compiler: []string{"gcc", "-fsyntax-only", "main.c"},
	}, {
		name: "rust-analyzer", main: "main.rs",
		setup: map[string]string{
			"Cargo.toml": "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[[bin]]\nname = \"p\"\npath = \"main.rs\"\n",
			"main.rs":    "/// Adds. 😀\npub fn compute(a: i32) -> i32 { return a + 1 }\n\nfn main() { std::process::exit(compute(1)) }\n",
		},
		other: func(i int) (string, string) {
			return fmt.Sprintf("f%02d.rs", i), fmt.Sprintf("use crate::compute;\npub fn use%d() -> (&'static str, i32) { (\"😀\", compute(%d)) }\n", i, i)
		},
		old: "return a + 1", bad: "return a + missing", says: "cannot find value `missing`", compiler: []string{"cargo", "check"},
	},
}

// rig runs the coding tools in a project, in the sandbox.
type rig struct {
	t    *testing.T
	dir  string
	env  *local.Env
	pipe *tool.Pipeline
	bin  string
	p    project
}

func start(t *testing.T, p project, others int, idle time.Duration) *rig {
	t.Helper()
	toolsDir := os.Getenv("REINS_LSP_TOOLS")
	if toolsDir == "" {
		t.Skip("make test-lsp runs this test")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, dir: dir, bin: filepath.Join(toolsDir, "bin"), p: p}
	for name, text := range p.setup {
		r.write(name, text)
	}
	for i := range others {
		r.write(p.other(i))
	}
	if p.name == "clangd" { // which finds the other files here
		var commands []map[string]string
		files, _ := filepath.Glob(filepath.Join(dir, "*.c"))
		for _, f := range files {
			commands = append(commands, map[string]string{"directory": dir, "file": f, "command": "cc -c " + f})
		}
		b, _ := json.Marshal(commands)
		r.write("compile_commands.json", string(b))
	}
	if p.name == "rust-analyzer" { // which reads files that are modules
		text := "#![allow(dead_code)]\n" + p.setup[p.main]
		for i := range others {
			text += fmt.Sprintf("mod f%02d;\n", i)
		}
		r.write(p.main, text)
	}
	box := sandbox.Config{Mode: sandbox.WorkspaceWrite, Cache: t.TempDir()}
	if os.Getenv("REINS_LSP_UNCONFINED") != "" {
		box = sandbox.Config{}
	}
	vars := map[string]string{"PATH": r.bin + ":" + os.Getenv("PATH"), "REINS_LSP_SUITE": dir}
	if fileExists(filepath.Join(r.bin, "rust-analyzer")) {
		vars["CARGO_HOME"] = t.TempDir() // it prefers programs in CARGO_HOME to those in PATH
	}
	if r.env, err = local.New(local.Config{Dir: dir, SpoolDir: t.TempDir(), Vars: vars, Sandbox: box}); err != nil {
		t.Fatal(err)
	}
	w := lsp.Open(r, r.env, lsp.Config{Idle: idle, Trusted: true})
	t.Cleanup(func() {
		w.Close()
		r.env.Close()
	})
	c := tools.Config{State: tools.NewState()}
	l := lsptools.New(w, lsptools.Config{Enabled: true, Timeout: 5 * time.Minute}, c)
	reg := &tool.Registry{}
	if err := reg.Register(append(tools.New(c), l.All()...)...); err != nil {
		t.Fatal(err)
	}
	r.pipe = &tool.Pipeline{Registry: reg, Policy: policy.AllowAll{}, Middleware: []tool.Middleware{l.Diagnose}}
	return r
}

func (r *rig) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

type args map[string]any

// run makes a call, which must succeed, and returns the model's view of the result.
func (r *rig) run(name string, a args) string {
	r.t.Helper()
	out := r.try(name, a)
	if !out.OK() {
		r.t.Fatalf("%s %v: %v", name, a, out.Result.Error)
	}
	return out.Model
}

func (r *rig) try(name string, a args) tool.Outcome {
	r.t.Helper()
	b, err := json.Marshal(a)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.pipe.Run(r.t.Context(), tool.Call{ID: "1", Name: name, Args: b, Env: r.env})
}

func (r *rig) edit(old, text string) string {
	r.t.Helper()
	return r.run("edit_file", args{"file_path": r.p.main, "old_string": old, "new_string": text})
}

// up starts the server, which takes long on a busy machine.
func (r *rig) up() {
	r.t.Helper()
	var out tool.Outcome
	for range 5 {
		if out = r.try("lsp", args{"operation": "symbols", "path": r.p.main}); out.OK() {
			return
		}
	}
	r.t.Fatalf("the server does not start: %v", out.Result.Error)
}

func (r *rig) lsp(operation string, more args) string {
	r.t.Helper()
	a := args{"operation": operation, "path": r.p.main}
	for k, v := range more {
		a[k] = v
	}
	return r.run("lsp", a)
}

// each runs a test for each server.
func each(t *testing.T, f func(t *testing.T, p project)) {
	for _, p := range projects {
		t.Run(p.name, func(t *testing.T) { f(t, p) })
	}
}

func wants(t *testing.T, what, got string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(got, p) {
			t.Errorf("%s: got\n%s\nwant %q in it", what, got, p)
		}
	}
}

func TestEdit_ReturnsTheErrorsThatItCauses(t *testing.T) {
	each(t, func(t *testing.T, p project) {
		r := start(t, p, 2, time.Hour)
		began := time.Now()
		got := r.edit(p.old, p.bad)
		first := time.Since(began)
		wants(t, "the edit that starts the server", got, p.says, p.main)
		got = r.edit(p.bad, p.old)
		if strings.Contains(got, "error") {
			t.Errorf("the repaired file: got\n%s\nwant no errors", got)
		}
		began = time.Now()
		got = r.edit(p.old, p.bad)
		warm := time.Since(began)
		wants(t, "the next edit", got, "this change causes 1 new error", p.says, p.main)
		wants(t, "an edit elsewhere", r.edit("Adds.", "Adds up."), "no new errors; 1 error from before")
		began = time.Now()
		cmd := exec.Command(p.compiler[0], p.compiler[1:]...)
		if own := filepath.Join(r.bin, p.compiler[0]); fileExists(own) {
			cmd.Path, cmd.Err = own, nil
		}
		cmd.Dir = r.dir
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "missing") {
			t.Errorf("%v: %v\n%s", p.compiler, err, out)
		}
		t.Logf("TABLE %s: first edit %v, next edit %v, %s %v", p.name, first.Round(time.Millisecond), warm.Round(time.Millisecond), strings.Join(p.compiler, " "), time.Since(began).Round(time.Millisecond))
	})
}

func fileExists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func TestRename_Over20Files(t *testing.T) {
	each(t, func(t *testing.T, p project) {
		r := start(t, p, 20, time.Hour)
		r.up()
		got := r.lsp("rename", args{"symbol": "compute", "new_name": "calculate"})
		names, _ := filepath.Glob(filepath.Join(r.dir, "*"+filepath.Ext(p.main)))
		if len(names) != 21 {
			t.Fatalf("there are %d files, want 21", len(names))
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if text := string(b); err != nil || strings.Contains(text, "compute(") || !strings.Contains(text, "calculate(") || !strings.Contains(text, "😀") {
				t.Errorf("%s is now %q, %v; want calculate instead of compute", filepath.Base(name), text, err)
			}
		}
		wants(t, "the rename", got, "Renamed to calculate in 2")
		if found := r.run("read_lints", args{"paths": []string{p.main}}); !strings.Contains(found, "No errors or warnings") {
			t.Errorf("after the rename: %s", found)
		}
	})
}

func TestQuestions_AreAnswered(t *testing.T) {
	each(t, func(t *testing.T, p project) {
		r := start(t, p, 2, time.Hour)
		r.up()
		f1, _ := p.other(1)
		at := args{"symbol": "compute"}
		if p.name == "clangd" {
			r.lsp("symbols", args{"path": f1}) // it reads the other files in the background
		}
		wants(t, "hover", r.lsp("hover", at), "compute", "Adds. 😀")
		wants(t, "references", r.lsp("references", at), p.main, f1+":")
		wants(t, "symbols", r.lsp("symbols", nil), "function compute")
		wants(t, "workspace_symbols", r.lsp("workspace_symbols", args{"query": "compute"}), p.main, "compute")
		wants(t, "incoming_calls", r.lsp("incoming_calls", at), f1, "use1")
		if p.name != "clangd" { // which has this since version 20
			wants(t, "outgoing_calls", r.lsp("outgoing_calls", args{"path": f1, "symbol": "use1"}), "compute")
		}
		// The emoji before the call takes 1 character, 2 UTF-16 units or 4 bytes.
		b, err := os.ReadFile(filepath.Join(r.dir, f1))
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(string(b), "\n") {
			if before, _, ok := strings.Cut(line, "compute("); ok && strings.Contains(line, "😀") {
				at := args{"path": f1, "line": n + 1, "character": len([]rune(before)) + 1}
				wants(t, "definition", r.lsp("definition", at), p.main+":")
				wants(t, "references", r.lsp("references", args{"symbol": "compute"}), fmt.Sprintf("%s:%d:%d:", f1, n+1, len([]rune(before))+1))
			}
		}
	})
}

// pids returns the server's processes, by a variable that they have.
func (r *rig) pids() (all []string) {
	names, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range names {
		if b, err := os.ReadFile(name); err == nil && strings.Contains(string(b), "REINS_LSP_SUITE="+r.dir+"\x00") {
			all = append(all, filepath.Base(filepath.Dir(name)))
		}
	}
	return all
}

func TestServer_IsKilledDuringARequest(t *testing.T) {
	each(t, func(t *testing.T, p project) {
		r := start(t, p, 20, time.Hour)
		r.up()
		for _, pid := range r.pids() {
			r.signal(pid, "-STOP") // so that it cannot answer
		}
		answer := make(chan tool.Outcome)
		go func() { answer <- r.try("lsp", args{"operation": "references", "path": p.main, "symbol": "compute"}) }()
		for _, pid := range r.pids() {
			r.signal(pid, "-KILL")
		}
		if out := <-answer; out.OK() {
			t.Errorf("got %s, want an error", out.Model)
		} else {
			wants(t, "the failure", out.Model, "SIGKILL")
		}
		r.up()
		wants(t, "the next request", r.lsp("references", args{"symbol": "compute"}), p.main)
	})
}

func (r *rig) signal(pid, signal string) {
	if out, err := exec.Command("kill", signal, pid).CombinedOutput(); err != nil {
		r.t.Logf("kill %s %s: %v %s", signal, pid, err, out)
	}
}

// usage returns the memory in MiB and the processor time of processes.
func usage(pids []string) (mib int, cpu time.Duration) {
	for _, pid := range pids {
		b, _ := os.ReadFile("/proc/" + pid + "/statm")
		var size, pages int
		_, _ = fmt.Sscan(string(b), &size, &pages)
		mib += pages * os.Getpagesize() >> 20
		b, _ = os.ReadFile("/proc/" + pid + "/stat")
		if _, rest, ok := strings.Cut(string(b), ") "); ok {
			f := strings.Fields(rest)
			var user, system int
			_, _ = fmt.Sscan(f[11], &user)
			_, _ = fmt.Sscan(f[12], &system)
			cpu += time.Duration(user+system) * 10 * time.Millisecond
		}
	}
	return mib, cpu
}

func TestIdle_CostAndStop(t *testing.T) {
	each(t, func(t *testing.T, p project) {
		const idle = 15 * time.Second
		r := start(t, p, 20, idle)
		r.up()
		r.lsp("references", args{"symbol": "compute"})
		pids := r.pids()
		if len(pids) == 0 {
			t.Fatal("no server runs")
		}
		time.Sleep(idle / 3) // it finishes its background work
		_, before := usage(pids)
		time.Sleep(idle / 3)
		mib, after := usage(pids)
		t.Logf("TABLE %s: idle server: %d MiB, %v of processor time in %v", p.name, mib, after-before, idle/3)
		for len(r.pids()) > 0 {
			time.Sleep(100 * time.Millisecond)
		}
		r.up()
	})
}
