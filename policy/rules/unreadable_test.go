package rules_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/reins-agent/reins/policy/rules"
)

func TestUnreadable_FindsWhatRulesDenyInAllRoots(t *testing.T) {
	p := newPlace(t)
	other := filepath.Join(filepath.Dir(p.dir), "other")
	for _, name := range []string{"a/b/key.pem", "a/b/notes"} {
		file := filepath.Join(other, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p.workspace.Roots = []string{other}
	deny := rules.Policy{Deny: list(t,
		"Read(.env)", "Read(secrets/**)", "Read(~/.ssh/**)", "Read(/"+other+"/**/*.pem)", "Read(//no/such/file)", "Edit(docs/**)", "Read",
	)}
	want := []string{
		p.dir + "/.env", p.dir + "/secrets", p.home + "/.ssh", other + "/a/b/key.pem", "/no/such/file",
	}
	slices.Sort(want)
	if got := deny.Unreadable(t.Context(), p.workspace); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	denies := deny.DeniesRead(p.workspace)
	for _, file := range want {
		if !denies(file) {
			t.Errorf("reading %s is not denied", file)
		}
	}
	for _, file := range []string{p.dir + "/docs/guide.md", other + "/a/b/notes", p.home + "/notes.txt"} {
		if denies(file) {
			t.Errorf("reading %s is denied", file)
		}
	}
	allow := rules.Policy{Allow: deny.Deny}
	if got := allow.Unreadable(t.Context(), p.workspace); got != nil || allow.DeniesRead(p.workspace) != nil {
		t.Errorf("rules that allow make %q unreadable", got)
	}
}
