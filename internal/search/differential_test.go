package search

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// needRipgrep skips a test if rg is missing, and fails it in continuous integration.
func needRipgrep(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("rg"); err == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("no rg on PATH: install ripgrep")
	}
	t.Skip("no rg on PATH: install ripgrep to compare with it")
}

// realRipgrep runs rg and returns its lines in the format of text.
func realRipgrep(t testing.TB, root, home string, q GrepQuery) []string {
	t.Helper()
	out := runRipgrep(t, root, home, append([]string{"--json"}, ripgrepArgs(q)...))
	var lines, file []string
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var e rgEvent
		if err := dec.Decode(&e); err != nil {
			t.Fatal(err)
		}
		switch e.Type {
		case "begin":
			file = nil
		case "match", "context":
			file = append(file, e.lines(t)...)
		case "end":
			if e.Data.Binary == nil {
				lines = append(lines, file...)
			}
		}
	}
	slices.Sort(lines)
	return lines
}

type rgEvent struct {
	Type string
	Data struct {
		Path   struct{ Text string }
		Lines  struct{ Text, Bytes string }
		Number int  `json:"line_number"`
		Binary *int `json:"binary_offset"`
	}
}

func (e rgEvent) lines(t testing.TB) []string {
	content := e.Data.Lines.Text
	if e.Data.Lines.Bytes != "" {
		raw, err := base64.StdEncoding.DecodeString(e.Data.Lines.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		content = string(raw)
	}
	sep := map[string]string{"match": ":", "context": "-"}[e.Type]
	var out []string
	for i, l := range strings.Split(strings.TrimSuffix(content, "\n"), "\n") {
		out = append(out, fmt.Sprintf("%s%s%d%s%s", path.Clean(e.Data.Path.Text), sep, e.Data.Number+i, sep, l))
	}
	return out
}

func ripgrepArgs(q GrepQuery) []string {
	var args []string
	flag := func(on bool, names ...string) {
		if on {
			args = append(args, names...)
		}
	}
	flag(q.IgnoreCase, "-i")
	flag(q.Literal, "-F")
	flag(q.Multiline, "-U", "--multiline-dotall")
	flag(q.Hidden, "--hidden")
	flag(q.NoIgnore, "--no-ignore")
	for _, g := range q.Globs {
		args = append(args, "-g", g)
	}
	args = append(args, "-g", "!.git") // ours is never searched
	for _, typ := range q.Types {
		args = append(args, "-t", typ)
	}
	return append(args, "-B", fmt.Sprint(q.Before), "-A", fmt.Sprint(q.After), "-e", q.Pattern, "./")
}

func runRipgrep(t testing.TB, root, home string, args []string) []byte {
	t.Helper()
	cmd := exec.Command("rg", append([]string{"--no-config", "--no-messages"}, args...)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME=")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("rg %q: %v: %s", args, err, &stderr)
	}
	return stdout.Bytes()
}

// agree compares our results with ripgrep's on a random tree.
func agree(t *testing.T, c chooser, fatalf func(string, ...any)) {
	root, home := randomTree(t, c)
	l := &Local{Dir: root, home: home}
	for range 6 {
		q := randomQuery(c)
		want := realRipgrep(t, root, home, q)
		got, _ := grepAll(t, l, q)
		if diff := cmp.Diff(want, sortedLines(text(got))); diff != "" {
			fatalf("%+v in %s\nrg (-) and ours (+) differ:\n%s\n%s", q, root, diff, ignoreFiles(t, root))
			return
		}
	}
}

func sortedLines(s string) []string {
	if s == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	slices.Sort(lines)
	return lines
}

// ignoreFiles returns a tree's ignore files, for failure messages.
func ignoreFiles(t testing.TB, root string) string {
	out, err := exec.Command("sh", "-c", `cd "$1/.."; find .. -name '.*ignore' -o -name exclude -o -name ignore -o -name .git | while read -r f; do echo "== $f"; test -f "$f" && cat "$f"; done`, "sh", root).Output()
	if err != nil {
		t.Log(err)
	}
	return string(out)
}

// Both layers must return the same results in the same order.
func TestSearch_LayersGiveTheSame(t *testing.T) {
	for seed := range uint64(40) {
		c := seeded{rand.New(rand.NewPCG(seed, 3))}
		root, _ := randomTree(t, c)
		local, generic := Searcher(isolated(root)), Searcher(genericSearcher{diskEnv{dir: root}})
		for range 10 {
			q := randomQuery(c)
			q.Mode = pick(c, []Mode{Content, Files, Count})
			q.HeadLimit = c.below(4) * 5
			want, wantSum := grepAll(t, local, q)
			got, gotSum := grepAll(t, generic, q)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d, %+v: local (-) and generic (+) differ:\n%s", seed, q, diff)
			}
			if wantSum.Partial != gotSum.Partial || wantSum.Matches != gotSum.Matches {
				t.Errorf("seed %d, %+v: summaries differ: local %+v, generic %+v", seed, q, wantSum, gotSum)
			}
		}
		for _, pattern := range []string{"**/*.go", "*", "src/**", "**/{foo,bar}*", "**/.*", "[ab]/**/*.t?t"} {
			q := GlobQuery{Pattern: pattern, Hidden: chance(c, 30), NoIgnore: chance(c, 30)}
			want, err := local.Glob(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			got, err := generic.Glob(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d, %+v: local (-) and generic (+) differ:\n%s", seed, q, diff)
			}
		}
	}
}

func TestGrep_SameAsRipgrepOnFixedSeeds(t *testing.T) {
	needRipgrep(t)
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			agree(t, seeded{rand.New(rand.NewPCG(seed, 1))}, t.Fatalf)
		})
	}
}

func TestGrep_SameAsRipgrepOnRandomTrees(t *testing.T) {
	needRipgrep(t)
	rapid.Check(t, func(rt *rapid.T) {
		agree(t, drawn{rt}, rt.Fatalf)
	})
}
