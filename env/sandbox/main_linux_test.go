//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// refusedCode is the exit code for a probe that did not get through.
const refusedCode = 10

// TestMain runs a probe instead of the tests if the first argument says so.
func TestMain(m *testing.M) {
	os.Setenv("GORACE", "atexit_sleep_ms=0") // probes that are built with the race detector end at once
	if len(os.Args) > 2 && os.Args[1] == "probe" {
		if err := probes[os.Args[2]](os.Args[3:]); err != nil {
			fmt.Println(err)
			os.Exit(refusedCode)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// nobody is the ordinary user.
const nobody = 65534

// TestAll_AsAnOrdinaryUser runs all other tests again, as a user without privileges.
func TestAll_AsAnOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the other tests already run as an ordinary user")
	}
	dir, err := os.MkdirTemp("", "sandbox-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = errors.Join(os.WriteFile(dir+"/tests", self, 0o755), os.Chmod(dir, 0o755), os.Mkdir(dir+"/home", 0o700), os.Chown(dir+"/home", nobody, nobody))
	}
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-test.skip=^TestAll_", "-test.v=" + fmt.Sprint(testing.Verbose())}
	if run := os.Getenv("REINS_SANDBOX_RUN"); run != "" {
		args = append(args, "-test.run="+run)
	}
	c := exec.Command(dir+"/tests", args...)
	c.Dir = dir + "/home"
	c.Env = append(os.Environ(), "HOME="+dir+"/home", "TMPDIR="+dir+"/home", "USER=nobody", "GOCACHE=", "GOPATH=", "GOMODCACHE=", "XDG_CACHE_HOME=")
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := c.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}

// stage is a workspace with a sandbox, and a directory outside it.
type stage struct {
	t                  *testing.T
	root, ws, out, tmp string
	box                *Box
}

// newStage makes the directories. change, if not nil, adds to the configuration and to the directories.
func newStage(t *testing.T, change func(*stage, *Config)) *stage {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, root: root, ws: root + "/ws", out: root + "/out", tmp: root + "/tmp"}
	s.write("out/file", "outside\n")
	s.write("out/dir/file", "outside\n")
	s.write("ws/file", "inside\n")
	s.write("ws/.git/HEAD", "ref: refs/heads/main\n")
	s.write("ws/.git/config", "[core]\n")
	s.write("ws/.git/hooks/pre-commit", "#!/bin/sh\n")
	s.write("ws/sub/deep/.git/HEAD", "ref: refs/heads/main\n")
	s.write("ws/sub/deep/.git/config", "[core]\n")
	s.write("ws/.vscode/tasks.json", "{}\n")
	if err := os.Mkdir(s.tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	c := Config{Mode: WorkspaceWrite, Dir: s.ws, Temp: s.tmp}
	if change != nil {
		change(s, &c)
	}
	if s.box, err = New(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.box.Close() })
	return s
}

func (s *stage) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.root, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		s.t.Fatal(err)
	}
}

// vars are the variables for commands.
func (s *stage) vars() []string {
	return append(os.Environ(), "OUT="+s.out, "WS="+s.ws, "TMPDIR="+s.tmp, "GOCACHE="+s.tmp+"/go-build", "HOME="+s.tmp)
}

// run runs a program, confined or not, and returns its output and exit code.
func (s *stage) run(confined bool, args ...string) (string, int) {
	s.t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	defer null.Close()
	start := os.StartProcess
	if confined {
		start = s.box.Start
	}
	p, err := start(args[0], args, &os.ProcAttr{Dir: s.ws, Env: s.vars(), Files: []*os.File{null, w, w}, Sys: &syscall.SysProcAttr{Setpgid: true}})
	w.Close()
	if err != nil {
		s.t.Fatalf("start %q: %v", args, err)
	}
	var out bytes.Buffer
	io.Copy(&out, r)
	state, err := p.Wait()
	if err != nil {
		s.t.Fatal(err)
	}
	return out.String(), state.ExitCode()
}

// sh runs a shell line.
func (s *stage) sh(confined bool, line string) (string, int) {
	s.t.Helper()
	return s.run(confined, "/bin/sh", "-c", line)
}

// must runs a confined line that has to succeed.
func (s *stage) must(line string) string {
	s.t.Helper()
	out, code := s.sh(true, line)
	if code != 0 {
		s.t.Fatalf("%s: exit code %d, want 0:\n%s", line, code, out)
	}
	return out
}

// probe runs one of this program's probes.
func (s *stage) probe(confined bool, args ...string) (string, int) {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	return s.run(confined, append([]string{self, "probe"}, args...)...)
}

// snapshot describes all files below a directory: their content, mode, owner, time, links and attributes.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %o %d:%d %d links, changed %d", path, st.Mode, st.Uid, st.Gid, st.Nlink, st.Mtim.Nano())
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			attributes := make([]byte, 1<<10)
			n, _ := unix.Listxattr(path, attributes)
			fmt.Fprintf(&b, " %q %q", data, attributes[:max(n, 0)])
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
