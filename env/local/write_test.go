package local

import (
	"os"
	"strings"
	"testing"
)

// TestReplacement_FailedRenameLeavesNothing renames to a place that is not there.
func TestReplacement_FailedRenameLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	d, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	r := replacement{dir: d, name: "no/such/place", perm: 0o644}
	if err := r.write(t.Context(), strings.NewReader("x")); err == nil {
		t.Error("the rename went through")
	}
	if list, _ := os.ReadDir(dir); len(list) != 0 {
		t.Errorf("left behind: %v", list)
	}
}
