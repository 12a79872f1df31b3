package local_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/local"
)

func TestHold_LockIsFreeWhenNobodyOfAKilledHostIsLeft(t *testing.T) {
	for name, line := range stubborn {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, spool := t.TempDir(), t.TempDir()
			locks := []string{filepath.Join(spool, "first"), filepath.Join(spool, "second")}
			host := startVictim(t, dir, spool, line, locks...)
			for _, name := range locks {
				if locked(t, name) {
					t.Fatal("the host has not locked its file")
				}
			}
			if err := host.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			for _, name := range locks {
				await(t, "the lock of a killed host", func() bool { return locked(t, name) })
				nobodyLeft(t, dir)
			}
			host.Wait()
		})
	}
}

// locked locks a file for a moment, and reports whether it could.
func locked(t *testing.T, name string) bool {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err != unix.EINTR {
			return err == nil
		}
	}
}

func TestHold_CommandsDoNotGetTheFile(t *testing.T) {
	e := newEnv(t, local.Config{})
	f, err := os.Create(filepath.Join(t.TempDir(), "lease"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	defer e.Hold(f)()
	run(t, e, "true")
	if r := run(t, e, "ls -l /proc/self/fd"); strings.Contains(r.Stdout, f.Name()) {
		t.Errorf("a command has the file:\n%s", r.Stdout)
	}
}

func TestSpool_DirectoryIsMadeWhenItIsNeeded(t *testing.T) {
	spool := t.TempDir()
	e := newEnv(t, local.Config{SpoolDir: spool})
	run(t, e, "echo short")
	if left, _ := os.ReadDir(spool); len(left) > 0 {
		t.Errorf("for a short output there is %v, which would stay if this process were killed now", left)
	}
	p, err := e.Start(t.Context(), env.Command{Line: "yes | head -c 300000"})
	if err != nil {
		t.Fatal(err)
	}
	wait(t, p)
	left, _ := os.ReadDir(spool)
	if len(left) != 1 || !left[0].IsDir() {
		t.Fatalf("for a long output there is %v", left)
	}
	if info, err := left[0].Info(); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory has the mode %v, %v", info.Mode(), err)
	}
	if r := run(t, e, "true"); r.Code != 0 {
		t.Errorf("%+v", r)
	}
}

func TestKilledHost_LeavesNoSpoolDirectory(t *testing.T) {
	dir, spool := t.TempDir(), t.TempDir()
	host := startVictim(t, dir, spool, "yes | head -c 300000; sleep 600")
	await(t, "a spool directory", func() bool { left, _ := os.ReadDir(spool); return len(left) == 1 })
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	host.Wait()
	await(t, "nothing is left", func() bool {
		left, _ := os.ReadDir(spool)
		return len(left) == 0 && len(inDir(dir)) == 0 && len(watchdogs(spool)) == 0
	})
}

func TestStart_SaysThatThereIsNoPlaceForOutput(t *testing.T) {
	e := newEnv(t, local.Config{SpoolDir: filepath.Join(t.TempDir(), "none")})
	_, err := e.Start(t.Context(), env.Command{Line: "true"})
	if err == nil || !strings.Contains(err.Error(), "find a directory for command output") {
		t.Errorf("the error is %v", err)
	}
}
