package skill

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/reins-agent/reins/internal/gitdir/gitdirtest"
)

func TestAround_IsTheRepositoryThatGitFinds(t *testing.T) {
	top := t.TempDir()
	gitdirtest.Init(t, top)
	skills := filepath.Join(top, "sub", "skills")
	if err := os.MkdirAll(filepath.Join(skills, ".git"), 0o755); err != nil { // git ignores it
		t.Fatal(err)
	}
	if got := around(filepath.Join(skills, "x")); got != (bounds{top, top}) {
		t.Errorf("got %v, want %s", got, top)
	}
	if err := os.WriteFile(filepath.Join(top, "sub", ".git"), []byte("gitdir: nowhere\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, want := around(filepath.Join(skills, "x")), filepath.Join(top, "sub"); got != (bounds{want, want}) {
		t.Errorf("with a broken .git: got %v, want %s", got, want)
	}
}
