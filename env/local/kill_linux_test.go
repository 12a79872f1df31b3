package local

import (
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reins-agent/reins/env"
)

func TestMarks_FoundOnlyWhereTheyAre(t *testing.T) {
	all, some := marks{env: "aa"}, marks{"aa", map[int]bool{2: true, 11: true}}
	for value, want := range map[string][2]bool{
		"":               {false, false},
		"aa.2;":          {true, true},
		"aa.1;":          {true, false},
		"aa.11;":         {true, true},
		"bb.2;":          {false, false},
		"xaa.2;":         {false, false},
		"bb.1;aa.2;":     {true, true},
		"aa.2;bb.1;":     {true, true},
		"aa.;aa;.2;aa.x": {false, false},
	} {
		if got := [2]bool{all.in(value), some.in(value)}; got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

// TestGrace_IsTwoSeconds measures, on a fake clock, the time between SIGTERM and SIGKILL.
func TestGrace_IsTwoSeconds(t *testing.T) {
	c := exec.Command("sh", "-c", "trap '' TERM; echo up; while :; do sleep 1; done")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		q := targets{group: c.Process.Pid}
		if !terminate(q) {
			t.Error("found no process to terminate")
		}
		awaitExit(q, make(chan struct{}), grace)
		// Reading the process table sleeps for some milliseconds for each process in the middle of an exec.
		if took := time.Since(start).Round(500 * time.Millisecond); took != 2*time.Second {
			t.Errorf("waited %v, want 2s", took)
		}
	})
	killAll(targets{group: c.Process.Pid}, nil, 0)
	if err := c.Wait(); c.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("it ended with %v, want SIGKILL", err)
	}
}

// TestKillAll_FindsWhatStartsWhileTheTableIsRead reads the process table as slowly as on a busy machine.
func TestKillAll_FindsWhatStartsWhileTheTableIsRead(t *testing.T) {
	t.Parallel()
	var started []*exec.Cmd
	start := func() {
		c := exec.Command("sleep", "600")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		started = append(started, c)
	}
	start()
	slow := func(id identity) bool {
		if len(started) == 1 { // the table was read without the second process
			start()
			time.Sleep(killTime)
		}
		return slices.ContainsFunc(started, func(c *exec.Cmd) bool { return c.Process.Pid == id.pid })
	}
	killAll(targets{marks: marks{env: newID()}, strays: slow}, nil, 0)
	for i, c := range started {
		if stat, ok := readStat(c.Process.Pid, make([]byte, 4096)); !ok || !stat.zombie {
			t.Errorf("process %d was not killed", i+1)
		}
		_ = c.Process.Kill()
		_ = c.Wait()
	}
}

func TestScan_NoQuarryFindsNobody(t *testing.T) {
	if found := scan(targets{marks: marks{env: newID()}}); len(found) != 0 {
		t.Errorf("found %v", found)
	}
}

func FuzzParseStat(f *testing.F) {
	self, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(self)
	f.Add([]byte("1 (a) b) (c) Z 2 3 4 " + strings.Repeat("0 ", 15) + "77 0"))
	f.Add([]byte("1 (x"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if e, ok := parseStat(1, text); ok && e.pid != 1 {
			t.Errorf("%q: pid %d", text, e.pid)
		}
	})
}

func TestParseStat_NameMayContainAnything(t *testing.T) {
	e, ok := parseStat(9, []byte("9 (a) R 1 (c) Z 2 3 4 "+strings.Repeat("0 ", 15)+"77 0"))
	if want := (tableEntry{identity{9, 2, 3, 77}, 4, true, false, true, false}); !ok || e != want {
		t.Errorf("%+v, %v, want %+v", e, ok, want)
	}
}

// TestGiveUp_CommandThatCannotBeKilledIsLeft simulates a command that hangs in the kernel.
func TestGiveUp_CommandThatCannotBeKilledIsLeft(t *testing.T) {
	e, err := New(Config{Dir: t.TempDir(), SpoolDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	p, err := e.Start(t.Context(), env.Command{Line: "sleep 600"})
	if err != nil {
		t.Fatal(err)
	}
	p.(*process).group.giveUp()
	if x, err := p.Wait(t.Context()); err != nil || x.Signal != "SIGKILL" {
		t.Errorf("exit: %+v, %v", x, err)
	}
}
