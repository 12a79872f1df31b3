package skill

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestBuiltin_SkillsAreValidWithoutFindings(t *testing.T) {
	reports, err := Lint("builtin")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reports {
		if !r.Valid || len(r.Findings) > 0 {
			t.Errorf("%s: valid %v, findings %v", r.Path, r.Valid, r.Findings)
		}
	}
	if len(reports) != 5 {
		t.Errorf("got %d skills, want 5", len(reports))
	}
}

func TestBuiltin_NamesAliasesAndTools(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := Discover(Options{Dir: dir})
	for name, want := range map[string]struct{ aliases, tools []string }{
		"commit":   {[]string{"ci"}, []string{"Bash", "Read", "Glob", "Grep"}},
		"review":   {[]string{"review-pr", "cr"}, []string{"Bash", "Read", "Glob", "Grep"}},
		"simplify": {nil, []string{"Bash", "Read", "Grep", "Glob"}},
		"debug":    {[]string{"investigate", "diagnose"}, []string{"Read", "Grep", "Glob", "Bash"}},
		"test":     {[]string{"run-tests"}, []string{"Bash", "Read", "Write", "Glob", "Grep"}},
	} {
		s, ok := r.Find(name)
		if !ok || !slices.Equal(s.Aliases, want.aliases) || !slices.Equal(s.AllowedTools, want.tools) || len(s.Warnings) > 0 {
			t.Errorf("%s: got %+v", name, s)
		}
		for _, a := range want.aliases {
			if s, ok := r.Find(a); !ok || s.Name != name {
				t.Errorf("%s: got %+v, want %s", a, s, name)
			}
		}
	}
}

func TestBuiltin_TestNeedsAProjectWithTests(t *testing.T) {
	dir := t.TempDir()
	r := Discover(Options{Dir: dir})
	if s, ok := r.Find("test"); ok {
		t.Errorf("found %v without a project", s.Name)
	}
	if err := os.WriteFile(filepath.Join(dir, "Cargo.toml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := r.Find("test"); !ok {
		t.Error("not found in a project")
	}
}
