package codesearch

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/internal/gitdir/gitdirtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

func TestWords_IdentifiersAreSplit(t *testing.T) {
	for text, want := range map[string]string{
		"parseHTTPRequest":   "pars http request parsehttprequest",
		"snake_case_name":    "snak cas nam snakecasename",
		"Sessions are SAVED": "session are sav",
		"x86_64 utf8 _":      "x86 x8664 utf8",
		"größe.öffnen()":     "größ öffnen",
		"i a 12345 class":    "class",
		"":                   "",
	} {
		var got []string
		words([]byte(text), func(w []byte) { got = append(got, string(w)) })
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q: got %q, want %q", text, s, want)
		}
	}
	if got := terms("How does the retryPolicy wait?"); !slices.Equal(got, []string{"retry", "policy", "retrypolicy", "wait"}) {
		t.Errorf("got terms %q", got)
	}
	if got := terms("what is it"); len(got) == 0 {
		t.Error("a query of common words has no terms")
	}
}

// rig searches real files.
type rig struct {
	t   *testing.T
	dir string
	env env.Environment
	x   *index
}

func newRig(t *testing.T) *rig {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e, err := local.New(local.Config{Dir: dir, SpoolDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	r := &rig{t, dir, e, newIndex()}
	r.write("net/retry.go", "package net\n\n// RetryPolicy decides how long to wait before a request is sent again.\ntype RetryPolicy struct{}\n")
	r.write("net/client.go", "package net\n\n// Client sends a request to a server.\ntype Client struct{ policy RetryPolicy }\n")
	r.write("store/disk.go", strings.Repeat("// filler\n", 100)+"// saveCheckpoint writes a snapshot of the workspace.\nfunc saveCheckpoint() {}\n")
	gitdirtest.Init(t, dir)
	r.write(".gitignore", "generated/\n")
	r.write("generated/x.go", "type RetryPolicy struct{}\n")
	r.write("bin.dat", "RetryPolicy\x00")
	r.write("big.txt", strings.Repeat("RetryPolicy\n", 100_000))
	return r
}

func (r *rig) write(name, text string) {
	r.t.Helper()
	p := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) run(query string, dirs ...string) tool.Outcome {
	r.t.Helper()
	reg := &tool.Registry{}
	if err := reg.Register(r.x.tool()); err != nil {
		r.t.Fatal(err)
	}
	args, _ := json.Marshal(map[string]any{"query": query, "target_directories": append([]string{}, dirs...)})
	return (&tool.Pipeline{Registry: reg, Policy: policy.AllowAll{}}).Run(r.t.Context(), tool.Call{Name: "codebase_search", Args: args, Env: r.env})
}

// files returns the files in a result, the best first.
func files(out tool.Outcome) string {
	var list []string
	for l := range strings.Lines(tool.String(out.Result.Output)) {
		if strings.Contains(l, ".") && !strings.Contains(l, ": ") && !strings.HasPrefix(l, "Nothing") {
			list = append(list, strings.TrimSpace(l))
		}
	}
	return strings.Join(list, " ")
}

func TestSearch_RanksFileParts(t *testing.T) {
	r := newRig(t)
	for query, want := range map[string]string{
		"how long does the retry policy wait": "net/retry.go net/client.go",
		"retry_policy":                        "net/retry.go net/client.go",
		"saving checkpoints":                  "store/disk.go",
		"the disk":                            "store/disk.go", // by its path
		"nonexistentword":                     "",
	} {
		if got := files(r.run(query)); got != want {
			t.Errorf("%q: got %q, want %q", query, got, want)
		}
	}
	out := r.run("snapshot of the workspace")
	if !strings.Contains(out.Model, "101: // saveCheckpoint writes a snapshot") {
		t.Errorf("got %q, want the line with its number", out.Model)
	}
	if got := files(r.run("request", "store")); got != "" {
		t.Errorf("got %q outside the target directory", got)
	}
	if got := files(r.run("retry policy", "net", "store", "net")); got != "net/retry.go net/client.go" {
		t.Errorf("got %q", got)
	}
	for dir, code := range map[string]tool.Code{"none": tool.NotADirectory, "big.txt": tool.NotADirectory} {
		if out := r.run("x1", dir); out.OK() || out.Result.Error.Code != code {
			t.Errorf("%s: %+v", dir, out.Result.Error)
		}
	}
	if out := r.run(" ? "); out.OK() || out.Result.Error.Code != tool.ValidationError {
		t.Errorf("a query without words: %+v", out.Result.Error)
	}
}

func TestSearch_ReadsOnlyChangedFiles(t *testing.T) {
	r := newRig(t)
	r.run("request")
	built := r.x.read
	if built != 4 {
		t.Errorf("%d files were read, want 4", built)
	}
	r.run("request")
	if r.x.read != built {
		t.Errorf("%d files were read again", r.x.read-built)
	}
	r.write("net/client.go", "package net // frobnicate\n")
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(r.dir, "net/client.go"), later, later); err != nil {
		t.Fatal(err)
	}
	r.write("new.go", "package frobnicate\n")
	if got := files(r.run("frobnicate")); got != "net/client.go new.go" && got != "new.go net/client.go" || r.x.read != built+2 {
		t.Errorf("got %q, and %d files were read, want 2", got, r.x.read-built)
	}
	if err := os.Remove(filepath.Join(r.dir, "new.go")); err != nil {
		t.Fatal(err)
	}
	if got := files(r.run("frobnicate")); got != "net/client.go" {
		t.Errorf("got %q, want only what exists", got)
	}
}

func TestSearch_LargeTreesAreSearchedWithGrep(t *testing.T) {
	for name, limit := range map[string]func(*index){"files": func(x *index) { x.maxFiles = 3 }, "bytes": func(x *index) { x.maxBytes = 100 }} {
		r := newRig(t)
		limit(r.x)
		out := r.run("retry policy wait")
		if got := files(out); got != "net/retry.go net/client.go" || !strings.Contains(out.Model, "searched with grep") || r.x.read > 0 {
			t.Errorf("%s: got %q", name, out.Model)
		}
	}
}

func TestSearch_LimitsResults(t *testing.T) {
	r := newRig(t)
	for i := range 30 {
		r.write(fmt.Sprintf("many/f%d.txt", i), strings.Repeat("needle "+strings.Repeat("x", 1000)+"\n", 200))
	}
	out := r.run("needle")
	if n := len(strings.Fields(files(out))); n != 10 || len(out.Model) > 20_500 {
		t.Errorf("got %d results and %d bytes", n, len(out.Model))
	}
}

func TestSearch_DeclaresTheDirectories(t *testing.T) {
	r := newRig(t)
	if err := os.Symlink("store", filepath.Join(r.dir, "link")); err != nil {
		t.Fatal(err)
	}
	args := json.RawMessage(`{"query":"x","target_directories":["net","link"]}`)
	got := fmt.Sprint(r.x.tool().Access(context.Background(), &tool.Call{Args: args, Env: r.env}))
	if want := fmt.Sprintf("[read %s/net read %s/store]", r.dir, r.dir); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func FuzzWords(f *testing.F) {
	f.Add([]byte("parseHTTPRequest_2 é"))
	f.Fuzz(func(t *testing.T, text []byte) {
		words(text, func(w []byte) {
			if len(w) < minWord || len(w) > maxWord || strings.ContainsAny(string(w), "_ \n") {
				t.Errorf("got word %q", w)
			}
		})
	})
}

// benchTree returns this repository, or the tree REINS_SEARCH_TREE.
func benchTree(b *testing.B) env.Environment {
	dir := "../.."
	if d := os.Getenv("REINS_SEARCH_TREE"); d != "" {
		dir = d
	}
	e, err := local.New(local.Config{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { e.Close() })
	return e
}

// bring lists a tree and brings an index without limits up to date.
func (x *index) bring(b *testing.B, e env.Environment) []listed {
	x.maxFiles, x.maxBytes = 1<<20, 1<<30
	list, err := x.list(b.Context(), e, []string{"."})
	if err == nil {
		err = x.update(b.Context(), e, list)
	}
	if err != nil {
		b.Fatal(err)
	}
	return list
}

func BenchmarkBuild(b *testing.B) {
	e := benchTree(b)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var x *index
	for b.Loop() {
		x = newIndex()
		x.bring(b, e)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	var size int64
	for _, f := range x.files {
		size += f.size
	}
	b.ReportMetric(float64(len(x.files)), "files")
	b.ReportMetric(float64(size)/(1<<20), "MiB-text")
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB-index")
}

// BenchmarkQuery measures a search with an index that is built, and must be checked.
func BenchmarkQuery(b *testing.B) {
	e := benchTree(b)
	x := newIndex()
	x.bring(b, e)
	for b.Loop() {
		if len(x.rank(x.bring(b, e), terms("where is the retry policy decided"))) == 0 {
			b.Fatal("nothing found")
		}
	}
}
