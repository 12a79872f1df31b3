package rules_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/policy/rules"
)

// With a real environment's files, devices cannot be resolved, and links lead elsewhere.
func TestNever_HoldsWithRealFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no devices and links as on Unix")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, dir := filepath.Join(top, "home"), filepath.Join(top, "home/project")
	if err := os.MkdirAll(filepath.Join(dir, "build"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"lhome": home, "lroot": "/"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	e, err := local.New(local.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	w := policy.Workspace{Dir: dir, Home: home, Paths: e.Info().Paths(), Files: e, ReadsOnly: true}
	for line, denied := range map[string]bool{
		"dd if=/dev/zero of=/dev/sda":   true,
		"cat x > /dev/vda":              true,
		"mkfs.ext4 /dev/sda1":           true,
		"tee /dev/nvme0n1 < x":          true,
		"dd of=/dev/mem if=x":           true,
		"rm -rf lhome/":                 true,
		"rm -rf lhome/.":                true,
		"rm -rf lroot/":                 true,
		"find lroot/ -delete":           true,
		"find -H lroot -delete":         true,
		"find -L lhome -delete":         true,
		"find lhome -follow -delete":    true,
		"rm -rf lhome":                  false, // only the link
		"rm -rf build/":                 false,
		"find -P lhome -delete":         false,
		"find build/ -delete":           false,
		"dd if=/dev/zero of=/dev/null":  false,
		"echo x > /dev/tty":             false,
		"dd if=/dev/zero of=build/disk": false,
	} {
		d := rules.Policy{}.Decide(t.Context(), policy.Query{
			Tool:      "shell",
			Mode:      policy.ModeBypass,
			Workspace: w,
			Accesses:  []policy.Access{{Kind: policy.Exec, Target: line, Dir: dir}},
		})
		if (d.Verdict == policy.Deny) != denied {
			t.Errorf("%s: got %s: %s, want denied %v", line, d.Verdict, d.Reason, denied)
		}
	}
}
