//go:build unix

package skill

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestAttack_AFIFOIsNotOpened(t *testing.T) {
	w := newTree(t)
	if err := os.MkdirAll(w.path("skills/evil"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(w.path("skills/evil/SKILL.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := Load(w.path("skills/evil")); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("got %+v, %v", s, err)
	}
	if reports, err := Lint(w.path("skills/evil")); err != nil || len(reports) != 1 || !reports[0].Serious() {
		t.Errorf("lint: %v, %v", reports, err)
	}
}
