package search_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/envtest"
	"github.com/reins-agent/reins/internal/search"
)

// counting is an environment with its own search. It counts its searches, and the reads through its
// other methods.
type counting struct {
	env.Environment
	searches, reads int
}

func (c *counting) Grep(ctx context.Context, q search.GrepQuery, yield func(search.FileMatch) bool) (search.Summary, error) {
	c.searches++
	return search.Grep(ctx, c.Environment, q, yield)
}

func (c *counting) Glob(ctx context.Context, q search.GlobQuery) (search.GlobResult, error) {
	c.searches++
	return search.Glob(ctx, c.Environment, q)
}

func (c *counting) NoLinks(env.Environment) env.Environment { return c }

func (c *counting) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	c.reads++
	return c.Environment.Open(ctx, path)
}

func (c *counting) ReadDir(ctx context.Context, path string) ([]env.FileInfo, error) {
	c.reads++
	return c.Environment.ReadDir(ctx, path)
}

// newCounting returns an environment with files that contain "needle".
func newCounting(t *testing.T, platform string) *counting {
	t.Helper()
	m := envtest.NewMemory(platform)
	for _, name := range []string{"top.go", "sub/a.go", "sub/d/b.go", "sub/d/e/c.txt", "subway/x.go"} {
		if err := m.WriteFile(t.Context(), name, []byte("needle\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return &counting{Environment: m}
}

// stacks are combinations of wrappers with the working directory sub.
var stacks = map[string]func(e env.Environment, l *slog.Logger) env.Environment{
	"scoped":                func(e env.Environment, _ *slog.Logger) env.Environment { return env.Scoped(e, "sub") },
	"scoped twice":          func(e env.Environment, _ *slog.Logger) env.Environment { return env.Scoped(env.Scoped(e, "."), "sub") },
	"read-only over scoped": func(e env.Environment, _ *slog.Logger) env.Environment { return env.ReadOnly(env.Scoped(e, "sub")) },
	"scoped over read-only": func(e env.Environment, _ *slog.Logger) env.Environment { return env.Scoped(env.ReadOnly(e), "sub") },
	"logged over scoped":    func(e env.Environment, l *slog.Logger) env.Environment { return env.Logged(env.Scoped(e, "sub"), l) },
	"scoped over logged":    func(e env.Environment, l *slog.Logger) env.Environment { return env.Scoped(env.Logged(e, l), "sub") },
	"all three": func(e env.Environment, l *slog.Logger) env.Environment {
		return env.ReadOnly(env.Logged(env.Scoped(e, "sub"), l))
	},
}

func grepPaths(t *testing.T, e env.Environment, path string) []string {
	t.Helper()
	var found []string
	_, err := search.Grep(t.Context(), e, search.GrepQuery{Pattern: "needle", Path: path}, func(m search.FileMatch) bool {
		found = append(found, m.Path)
		return true
	})
	if err != nil {
		t.Errorf("grep in %q: %v", path, err)
	}
	return found
}

func globPaths(t *testing.T, e env.Environment, q search.GlobQuery) []string {
	t.Helper()
	res, err := search.Glob(t.Context(), e, q)
	if err != nil {
		t.Errorf("glob %+v: %v", q, err)
	}
	found := []string{}
	for _, f := range res.Files {
		found = append(found, f.Path)
	}
	slices.Sort(found)
	return found
}

func TestGlob_VisitsTheFilesThatItWouldReturn(t *testing.T) {
	for name, wrap := range stacks {
		for layer, e := range map[string]env.Environment{"own": newCounting(t, "linux"), "generic": newCounting(t, "linux").Environment} {
			e = wrap(e, slog.New(slog.DiscardHandler))
			var visited []string
			q := search.GlobQuery{Pattern: "**", Visit: func(path string) bool {
				visited = append(visited, path)
				return len(visited) < 2
			}}
			res, err := search.Glob(t.Context(), e, q)
			all := globPaths(t, e, search.GlobQuery{Pattern: "**"})
			if err != nil || len(res.Files) != 0 || !res.Summary.Partial || !slices.Equal(visited, all[:2]) {
				t.Errorf("%s, %s: visited %q of %q, %+v, %v", name, layer, visited, all, res, err)
			}
		}
	}
}

func TestSearch_EnvironmentAnswersItselfBelowWrappers(t *testing.T) {
	for name, wrap := range map[string]func(e env.Environment) env.Environment{
		"plain":     func(e env.Environment) env.Environment { return e },
		"read-only": func(e env.Environment) env.Environment { return env.ReadOnly(e) },
		"logged":    func(e env.Environment) env.Environment { return env.Logged(e, slog.New(slog.DiscardHandler)) },
	} {
		c := newCounting(t, "linux")
		e := wrap(c)
		if got, want := grepPaths(t, e, ""), []string{"sub/a.go", "sub/d/b.go", "sub/d/e/c.txt", "subway/x.go", "top.go"}; !slices.Equal(got, want) {
			t.Errorf("%s: grep found %q, want %q", name, got, want)
		}
		if got, want := globPaths(t, e, search.GlobQuery{Pattern: "sub/**/*.go"}), []string{"sub/a.go", "sub/d/b.go"}; !slices.Equal(got, want) {
			t.Errorf("%s: glob found %q, want %q", name, got, want)
		}
		if c.searches != 2 || c.reads != 0 {
			t.Errorf("%s: the environment answered %d of 2 searches itself, and was read %d times", name, c.searches, c.reads)
		}
	}
}

func TestSearch_EnvironmentAnswersItselfBelowScopes(t *testing.T) {
	for _, platform := range []string{"linux", "windows"} {
		for name, wrap := range stacks {
			t.Run(platform+"/"+name, func(t *testing.T) {
				c := newCounting(t, platform)
				e := wrap(c, slog.New(slog.DiscardHandler))
				dir := e.Info().Paths().ToSlash(e.Info().Dir)
				for path, want := range map[string][]string{
					"":             {"a.go", "d/b.go", "d/e/c.txt"},
					".":            {"a.go", "d/b.go", "d/e/c.txt"},
					"d":            {"d/b.go", "d/e/c.txt"},
					"./d/e/":       {"d/e/c.txt"},
					"d/b.go":       {"d/b.go"},
					e.Info().Dir:   {dir + "/a.go", dir + "/d/b.go", dir + "/d/e/c.txt"},
					"../sub/d/e/.": {"../sub/d/e/c.txt"},
				} {
					if got := grepPaths(t, e, path); !slices.Equal(got, want) {
						t.Errorf("grep in %q found %q, want %q", path, got, want)
					}
				}
				for _, g := range []struct {
					q    search.GlobQuery
					want []string
				}{
					{search.GlobQuery{Pattern: "**/*.go"}, []string{"a.go", "d/b.go"}},
					{search.GlobQuery{Pattern: "d/*.go"}, []string{"d/b.go"}},
					{search.GlobQuery{Pattern: "e/*", Path: "d"}, []string{"d/e/c.txt"}},
					{search.GlobQuery{Pattern: e.Info().Dir + "/d/*"}, []string{dir + "/d/b.go"}},
					{search.GlobQuery{Pattern: "missing/*"}, []string{}},
				} {
					if got := globPaths(t, e, g.q); !slices.Equal(got, g.want) {
						t.Errorf("glob %+v found %q, want %q", g.q, got, g.want)
					}
				}
				if c.searches != 12 || c.reads != 0 {
					t.Errorf("the environment answered %d of 12 searches itself, and was read %d times", c.searches, c.reads)
				}
			})
		}
	}
}

func TestSearch_ScopesConfineTheSearchBelowThem(t *testing.T) {
	for name, wrap := range stacks {
		c := newCounting(t, "linux")
		e := wrap(c, slog.New(slog.DiscardHandler))
		for _, path := range []string{"..", "../top.go", "/work", "/work/subway", "d/../.."} {
			_, err := search.Grep(t.Context(), e, search.GrepQuery{Pattern: "needle", Path: path}, func(m search.FileMatch) bool {
				t.Errorf("%s: grep in %q found %s", name, path, m.Path)
				return true
			})
			if !errors.Is(err, env.ErrOutside) {
				t.Errorf("%s: grep in %q: %v, want ErrOutside", name, path, err)
			}
		}
		for _, q := range []search.GlobQuery{{Pattern: "*", Path: ".."}, {Pattern: "../*"}, {Pattern: "/work/*"}, {Pattern: "/work/subway/*"}, {Pattern: "../../*", Path: "d"}} {
			res, err := search.Glob(t.Context(), e, q)
			if !errors.Is(err, env.ErrOutside) || len(res.Files) > 0 {
				t.Errorf("%s: glob %+v: %v, %v, want ErrOutside", name, q, res.Files, err)
			}
		}
		if c.searches != 0 {
			t.Errorf("%s: %d searches outside reached the environment", name, c.searches)
		}
		if got := globPaths(t, e, search.GlobQuery{Pattern: "*/../../*"}); len(got) > 0 {
			t.Errorf("%s: found %q", name, got)
		}
	}
}

// stray is an environment whose search returns a result outside the searched path.
type stray struct{ env.Environment }

func (s stray) NoLinks(env.Environment) env.Environment { return s }

func (s stray) Grep(_ context.Context, q search.GrepQuery, yield func(search.FileMatch) bool) (search.Summary, error) {
	for _, p := range []string{q.Path + "/in", "/work/subway/x.go", q.Path + "way/x"} {
		yield(search.FileMatch{Path: p})
	}
	return search.Summary{}, nil
}

func (s stray) Glob(_ context.Context, q search.GlobQuery) (search.GlobResult, error) {
	return search.GlobResult{Files: []search.GlobFile{{Path: q.Path + "/in"}, {Path: "/work/top.go"}}}, nil
}

func TestSearch_ResultsFromOutsideAScopeAreDropped(t *testing.T) {
	e := env.Scoped(stray{envtest.NewMemory("linux")}, "sub")
	if got := grepPaths(t, e, ""); !slices.Equal(got, []string{"in"}) {
		t.Errorf("grep gave %q", got)
	}
	if got := globPaths(t, e, search.GlobQuery{Pattern: "*"}); !slices.Equal(got, []string{"in"}) {
		t.Errorf("glob gave %q", got)
	}
}

func TestSearch_EachSearchBelowALoggerIsLoggedOnce(t *testing.T) {
	for name, want := range map[string]string{
		"logged over scoped": "level=DEBUG msg=grep path=d\nlevel=DEBUG msg=glob path=.\nlevel=DEBUG msg=grep path=missing error=E\n",
		"scoped over logged": "level=DEBUG msg=grep path=/work/sub/d\nlevel=DEBUG msg=glob path=/work/sub\nlevel=DEBUG msg=grep path=/work/sub/missing error=E\n",
	} {
		var b bytes.Buffer
		l := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			switch a.Key {
			case "time", "took":
				return slog.Attr{}
			case "error":
				return slog.String("error", "E")
			}
			return a
		}}))
		e := stacks[name](newCounting(t, "linux"), l)
		// RealPath is logged too, and not counted here.
		grepPaths(t, e, "d")
		globPaths(t, e, search.GlobQuery{Pattern: "*.go"})
		_, err := search.Grep(t.Context(), e, search.GrepQuery{Pattern: "x", Path: "missing"}, nil)
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a missing path gave %v", name, err)
		}
		var got strings.Builder
		for line := range strings.Lines(b.String()) {
			if !strings.Contains(line, "msg=resolve") {
				got.WriteString(line)
			}
		}
		if got.String() != want {
			t.Errorf("%s: logged\n%s\nwant\n%s", name, &got, want)
		}
	}
}

// Windows paths work on every platform.
func TestSearch_WindowsPathsEverywhere(t *testing.T) {
	e := newCounting(t, "windows").Environment // without its own search
	for path, want := range map[string][]string{
		`sub\d`:         {"sub/d/b.go", "sub/d/e/c.txt"},
		`C:\work\sub\d`: {"C:/work/sub/d/b.go", "C:/work/sub/d/e/c.txt"},
		`\work\subway`:  {"/work/subway/x.go"},
		`C:\`:           {"C:/work/sub/a.go", "C:/work/sub/d/b.go", "C:/work/sub/d/e/c.txt", "C:/work/subway/x.go", "C:/work/top.go"},
	} {
		if got := grepPaths(t, e, path); !slices.Equal(got, want) {
			t.Errorf("grep in %q found %q, want %q", path, got, want)
		}
	}
	for pattern, want := range map[string][]string{
		`C:\work\sub\*.go`: {"C:/work/sub/a.go"},
		"C:/work/*.go":     {"C:/work/top.go"},
		"sub/d/*":          {"sub/d/b.go"},
	} {
		if got := globPaths(t, e, search.GlobQuery{Pattern: pattern}); !slices.Equal(got, want) {
			t.Errorf("glob %q found %q, want %q", pattern, got, want)
		}
	}
}
