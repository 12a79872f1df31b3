//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// newDenied is a stage with denied paths inside and outside the workspace.
func newDenied(t *testing.T, change func(*stage, *Config)) *stage {
	t.Helper()
	s := newStage(t, func(s *stage, c *Config) {
		s.write("ws/secret/file", "denied\n")
		s.write("ws/deep/dir/key", "denied\n")
		c.Denied = []string{s.ws + "/secret", s.ws + "/deep/dir/key", s.ws + "/later", s.out + "/dir", s.out + "/none"}
		if change != nil {
			change(s, c)
		}
	})
	if !s.box.Support().Full() {
		t.Skip("the sandbox is not complete")
	}
	return s
}

func TestDenied_PathsCanBeNeitherReadNorWritten(t *testing.T) {
	for name, change := range map[string]func(*stage, *Config){
		"workspace": nil,
		"listed":    func(s *stage, c *Config) { c.Readable = append(systemForTests(), s.ws) },
		"read": func(s *stage, c *Config) {
			c.Mode, c.Readable, c.NoSockets = ReadOnly, append(systemForTests(), s.ws), true
		},
	} {
		s := newDenied(t, change)
		for _, line := range []string{
			"cat secret/file", "cat deep/dir/key | grep .", "grep -r denied .", "cat $OUT/dir/file", "cat ../out/dir/file", "ln -s secret x; cat x/file",
			"echo x > secret/new", "echo x > deep/dir/key", "echo x >> deep/dir/key", "rm -r secret", "rm deep/dir/key", "mv secret moved", "mv deep moved",
			"mv deep/dir moved", "mkdir -p $OUT/dir/x", "ln deep/dir/key hard && cat hard | grep .", "cp -r secret copy && cat copy/file",
			"chmod 777 secret && cat secret/file", "cat /proc/self/root$WS/secret/file",
		} {
			if out, code := s.sh(true, line); code == 0 || strings.Contains(out, "denied\n") && !strings.Contains(out, "Permission") {
				t.Errorf("%s: %s: exit code %d, want a refusal: %s", name, line, code, out)
			}
			if out, code := s.sh(false, "cat secret/file deep/dir/key $OUT/dir/file"); code != 0 || out != "denied\ndenied\noutside\n" {
				t.Fatalf("%s: %s changed what is denied: %s", name, line, out)
			}
			os.Remove(s.ws + "/x")
		}
		if s.box.Allows(s.ws+"/secret/new") || s.box.Allows(s.ws+"/deep/dir/key") || s.box.Allows(s.ws+"/later") {
			t.Errorf("%s: a tool may write what is denied", name)
		}
		s.must("cat file deep/dir/../../file")
	}
}

// systemForTests are the directories that programs need.
func systemForTests() []string {
	var list []string
	for _, dir := range []string{"/usr", "/bin", "/lib", "/lib64", "/etc", "/dev", "/proc"} {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			list = append(list, real)
		}
	}
	return list
}

func TestDenied_PathsThatAppearLaterAreDeniedToo(t *testing.T) {
	s := newDenied(t, nil)
	s.must("cat file")
	s.sh(true, "echo planted > later")
	s.box.Sweep()
	if _, err := os.Stat(s.ws + "/later"); err == nil {
		t.Error("a command can create what is denied")
	}
	s.write("ws/later", "denied\n")
	if out, _ := s.sh(true, "cat later"); strings.Contains(out, "denied\n") {
		t.Errorf("a file that appeared later can be read: %s", out)
	}
}

func TestDenied_TheWorkspaceItselfIsAnError(t *testing.T) {
	dir := t.TempDir()
	for _, denied := range []string{dir, filepath.Dir(dir), "/"} {
		if b, err := New(Config{Mode: WorkspaceWrite, Dir: dir, Temp: t.TempDir(), Denied: []string{denied}}); err == nil {
			b.Close()
			t.Errorf("%s is accepted", denied)
		}
	}
}
