//go:build amd64 || arm64

package sandbox

import (
	"os"
	"strings"
	"testing"
)

// fileProbes are shell lines that must fail in the sandbox and leave everything outside unchanged. rootOnly lines fail
// for ordinary users even without a sandbox.
var fileProbes = []struct {
	name, line string
	rootOnly   bool
}{
	// Outside the workspace.
	{"create", `echo x > $OUT/new`, false},
	{"append", `echo x >> $OUT/file`, false},
	{"truncate", `: > $OUT/file`, false},
	{"remove", `rm -f $OUT/file`, false},
	{"make a directory", `mkdir $OUT/new`, false},
	{"remove a tree", `rm -rf $OUT/dir`, false},
	{"move in", `mv $OUT/file .`, false},
	{"move out", `mv file $OUT/new`, false},
	{"link in and write", `ln $OUT/file l && echo x >> l`, false},
	{"link out", `ln file $OUT/new`, false},
	{"write through a link", `ln -s $OUT/file s && echo x > s`, false},
	{"write through a link to a directory", `ln -s $OUT s && echo x > s/new`, false},
	{"write through a relative path", `echo x > ../out/new`, false},
	{"write through /proc", `echo x > /proc/self/root$OUT/new`, false},
	{"chmod", `chmod 777 $OUT/file`, false},
	{"chown", `chown 1:1 $OUT/file`, true},
	{"touch", `touch -d 2001-01-01 $OUT/file`, false},
	{"fifo", `mkfifo $OUT/new`, false},
	{"device", `mknod null c 1 3 && echo x > null`, true},
	{"cp over", `cp file $OUT/file`, false},
	{"sed in place", `sed -i s/o/x/ $OUT/file`, false},
	{"the kernel's settings of the own process", `echo 500 > /proc/self/oom_score_adj`, false},
	// Protected paths that exist.
	{"hook", `echo x >> .git/hooks/pre-commit`, false},
	{"new hook", `echo x > .git/hooks/post-checkout`, false},
	{"configuration", `echo x >> .git/config`, false},
	{"configuration through rename", `echo x > c && mv c .git/config`, false},
	{"configuration through a hard link", `ln .git/config c && echo x >> c`, false},
	{"remove the configuration", `rm -f .git/config`, false},
	{"move .git away", `mv .git g && cp -r g .git && echo x >> .git/config`, false},
	{"move the hooks away", `mv .git/hooks h && mkdir .git/hooks && echo x > .git/hooks/pre-commit`, false},
	{"replace .git by a link", `cp -r .git g && rm -rf .git && ln -s g .git`, false},
	{"replace .git by a file", `rm -rf .git; echo "gitdir: $WS/g" > .git`, false},
	{"tasks", `echo x > .vscode/tasks.json`, false},
	{"move the tasks away", `mv .vscode v && mkdir .vscode`, false},
	{"chmod a hook", `chmod 777 .git/hooks/pre-commit`, false},
	{"nested repository", `echo x >> sub/deep/.git/config`, false},
	{"move a nested repository", `mv sub/deep/.git g && cp -r g sub/deep/.git`, false},
	{"move the parent of a nested repository", `mv sub/deep d && cp -r d sub/deep`, false},
	{"move the grandparent of a nested repository", `mv sub s && cp -r s sub`, false},
	{"replace the workspace", `mv $WS $WS.old`, false},
	// Paths in a repository that do not exist.
	{"missing modules", `mkdir -p .git/modules/x/hooks`, false},
	{"missing worktrees", `mkdir -p .git/worktrees/x`, false},
}

func TestFiles_AreProtected(t *testing.T) {
	for _, probe := range fileProbes {
		t.Run(probe.name, func(t *testing.T) {
			plain := newStage(t, nil)
			if out, code := plain.sh(false, probe.line); code != 0 && (os.Getuid() == 0 || !probe.rootOnly) {
				t.Fatalf("without a sandbox: exit code %d, want 0, or the test shows nothing:\n%s", code, out)
			}
			s := newStage(t, nil)
			if !s.box.Support().Full() {
				t.Fatalf("the sandbox is not complete: %v", s.box.Support().Problems)
			}
			before := snapshot(t, s.out) + protectedState(t, s)
			out, code := s.sh(true, probe.line)
			if code == 0 {
				t.Errorf("exit code 0, want a failure:\n%s", out)
			}
			if after := snapshot(t, s.out) + protectedState(t, s); after != before {
				t.Errorf("files have changed from\n%sto\n%s", before, after)
			}
			t.Log(strings.TrimSpace(out))
		})
	}
}

// protectedState describes the protected files in a workspace.
func protectedState(t *testing.T, s *stage) (state string) {
	t.Helper()
	for _, name := range []string{".git/config", ".git/hooks", ".vscode", "sub/deep/.git/config", ".git/modules"} {
		state += snapshot(t, s.ws+"/"+name)
	}
	return state
}

func TestReadOnly_PermitsOnlyTheTemporaryDirectory(t *testing.T) {
	readOnly := func(_ *stage, c *Config) { c.Mode = ReadOnly }
	for _, line := range []string{`echo x > new`, `echo x >> file`, `rm file`, `mv file f`, `chmod 777 file`, `touch file`, `mkdir d`, `ln file l`} {
		s := newStage(t, readOnly)
		if out, code := s.sh(false, line); code != 0 {
			t.Fatalf("%s without a sandbox: exit code %d, want 0:\n%s", line, code, out)
		}
		s = newStage(t, readOnly)
		before := snapshot(t, s.ws)
		if out, code := s.sh(true, line); code == 0 || snapshot(t, s.ws) != before {
			t.Errorf("%s: exit code %d, want a failure without a change:\n%s", line, code, out)
		}
		s.must(`echo x > $TMPDIR/new && rm $TMPDIR/new && cat file > /dev/null`)
	}
}

func TestWorkspace_StaysWritable(t *testing.T) {
	s := newStage(t, nil)
	s.must(`echo x > new && mkdir -p a/b && mv new a/b && ln a/b/new l && ln -s l s && chmod 600 l && touch -d 2001-01-01 l && rm -rf a s l`)
	s.must(`echo x > .git/HEAD && mkdir -p .git/refs/heads && echo x > sub/deep/new && mkfifo p && rm p`)
	s.must(`echo x > /dev/null && echo x > /dev/shm/x && head -c 10 /dev/urandom > /dev/full || true; echo x > /dev/stdout`)
	s.must(`echo x > $TMPDIR/t && echo y | cat > /dev/fd/1`)
}

func TestCommondir_IsRemoved(t *testing.T) {
	s := newStage(t, nil)
	s.must(`echo $OUT > .git/commondir`)
	if removed := s.box.Sweep(); len(removed) != 1 || removed[0] != s.ws+"/.git/commondir" {
		t.Errorf("removed %q, want .git/commondir", removed)
	}
	if _, err := os.Lstat(s.ws + "/.git/commondir"); err == nil {
		t.Error(".git/commondir still exists")
	}
}
