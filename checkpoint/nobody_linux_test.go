package checkpoint

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// asNobody runs this test again without root's permissions. ours reports whether the process has none.
func asNobody(t *testing.T) (dir string, ours bool) {
	t.Helper()
	const mark = "REINS_CHECKPOINT_NOBODY"
	if dir := os.Getenv(mark); dir != "" {
		return dir, true
	}
	if os.Geteuid() != 0 {
		return t.TempDir(), true
	}
	// Nobody cannot enter t.TempDir or run this binary where it is.
	dir, err := os.MkdirTemp("", "nobody")
	must(t, err)
	made := dir // the named result changes
	t.Cleanup(func() { must(t, os.RemoveAll(made)) })
	const nobody = 65534
	must(t, os.Chown(dir, nobody, nobody))
	program := filepath.Join(dir, "test")
	data, err := os.ReadFile(os.Args[0])
	must(t, err)
	must(t, os.WriteFile(program, data, 0o755))
	cmd := exec.Command(program, "-test.run=^"+t.Name()+"$")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), mark+"="+dir, "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
	return "", false
}

func TestRestore_WritesToReadOnlyDirectories(t *testing.T) {
	dir, ours := asNobody(t)
	if !ours {
		return
	}
	w := openWorkspace(t, dir)
	w.write("ro/sub/f", "1")
	w.write("ro/g", "1")
	must(t, os.Chmod(w.path("ro/sub"), 0o555))
	must(t, os.Chmod(w.path("ro"), 0o555))
	defer os.Chmod(w.path("ro"), 0o755)
	defer os.Chmod(w.path("ro/sub"), 0o755)
	want := w.state()
	a := w.take()
	must(t, os.WriteFile(w.path("ro/sub/f"), []byte("changed"), 0o644))
	must(t, os.Chmod(w.path("ro"), 0o755))
	w.remove("ro/g")
	w.write("ro/new", "2")
	must(t, os.Chmod(w.path("ro"), 0o555))
	r := w.restore(a)
	same(t, "undo", w.state(), want)
	w.restore(r.Before)
	equal(t, "redo", w.status(a), "-ro/g +ro/new ~ro/sub/f")
}

func TestRestore_KeepsTheOwnerOfAFileThatItReplaces(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to others")
	}
	w := newWorkspace(t)
	w.write("f", "1")
	a := w.take()
	w.write("f", "2")
	must(t, os.Chown(w.path("f"), 12345, 54321))
	w.restore(a)
	info, err := os.Lstat(w.path("f"))
	must(t, err)
	st := info.Sys().(*syscall.Stat_t)
	equal(t, "user", st.Uid, 12345)
	equal(t, "group", st.Gid, 54321)
	equal(t, "status", w.status(a), "")
}

func TestTake_ListsUnreadableFilesAndRestoreKeepsThem(t *testing.T) {
	dir, ours := asNobody(t)
	if !ours {
		return
	}
	w := openWorkspace(t, dir)
	w.write("f", "1")
	w.write("closed/x", "1")
	a := w.take()
	w.write("f", "2")
	w.write("later/y", "2")
	for _, p := range []string{"f", "closed", "later"} {
		must(t, os.Chmod(w.path(p), 0))
		defer os.Chmod(w.path(p), 0o700)
	}
	_, stats, err := w.store.Take(context.Background(), "")
	must(t, err)
	equal(t, "unreadable", len(stats.Unreadable), 3)
	_, err = w.store.Restore(context.Background(), a, RestoreOptions{})
	incomplete := (*IncompleteError)(nil)
	if !errors.As(err, &incomplete) || len(incomplete.Failed) != 2 || incomplete.Failed[0].Path != "closed/x" || incomplete.Failed[1].Path != "f" {
		t.Fatalf("got error %v, want an IncompleteError for closed/x and f", err)
	}
	must(t, os.Chmod(w.path("f"), 0o600))
	data, err := os.ReadFile(w.path("f"))
	must(t, err)
	equal(t, "what could not be saved", string(data), "2")
	info, err := os.Lstat(w.path("closed"))
	must(t, err)
	equal(t, "mode of a directory", info.Mode().Perm(), fs.FileMode(0o755))
	must(t, os.Chmod(w.path("later"), 0o700))
	data, err = os.ReadFile(w.path("later/y"))
	must(t, err)
	equal(t, "what could not be looked into", string(data), "2")
	w.restore(a)
	equal(t, "now that it can be read", w.status(a), "")
}

func TestRestore_KeepsFilesThatItsCheckpointCouldNotRead(t *testing.T) {
	dir, ours := asNobody(t)
	if !ours {
		return
	}
	w := openWorkspace(t, dir)
	w.write("closed/sub/x", "1")
	w.write("f\xff", "1")
	w.write("g", "1")
	want := w.state()
	must(t, os.Chmod(w.path("closed"), 0))
	must(t, os.Chmod(w.path("f\xff"), 0))
	a := w.take()
	must(t, os.Chmod(w.path("closed"), 0o755))
	must(t, os.Chmod(w.path("f\xff"), 0o644))
	w.write("g", "2")
	equal(t, "status", w.status(a), "~closed ~g")
	b := w.take()
	equal(t, "diff", w.diff(a, b), "~closed ~g")
	equal(t, "diff the other way", w.diff(b, a), "~closed ~g")
	w.restore(a)
	must(t, os.Chmod(w.path("closed"), 0o755))
	same(t, "undo", w.state(), want)
}

func TestTake_AnUnreadableFileIsNotAMissingOne(t *testing.T) {
	dir, ours := asNobody(t)
	if !ours {
		return
	}
	w := openWorkspace(t, dir)
	w.write("x", "1")
	must(t, os.Chmod(w.path("x"), 0))
	a := w.take()
	w.remove("x")
	b := w.take()
	equal(t, "same checkpoint", a == b, false)
	w.write("x", "2")
	w.restore(b)
	same(t, "restored", w.state(), map[string]string{})
}
