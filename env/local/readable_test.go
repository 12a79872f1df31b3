package local

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/reins-agent/reins/env/sandbox"
)

// Root can read all users' files, so commands run by root must not.
func TestMasked_IncludesTheCredentialsOfOthersForRoot(t *testing.T) {
	homes, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(homes+"/other", 0o700); err != nil {
		t.Fatal(err)
	}
	defer func(old string) { otherHomes = old }(otherHomes)
	otherHomes = homes + "/*"
	t.Setenv("HOME", t.TempDir())
	list := masked(sandbox.Config{Dir: t.TempDir()})
	for _, home := range []string{homes + "/other", "/root"} {
		if got, want := slices.Contains(list, home+"/.ssh"), os.Geteuid() == 0; got != want {
			t.Errorf("%s/.ssh is masked: %v, want %v", home, got, want)
		}
	}
}
