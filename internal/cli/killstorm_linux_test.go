package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/event/filestore"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

// TestRun_KilledOnABusyMachineAndResumedAtOnceDoesNothingTwice has a model that repeats an interrupted
// call unless it took effect. That is correct only if nothing of the killed run is still alive. "make
// storm" runs it at full size.
func TestRun_KilledOnABusyMachineAndResumedAtOnceDoesNothingTwice(t *testing.T) {
	kills, others, path := 3, 200, ""
	home := t.TempDir()
	if os.Getenv("REINS_STORM") != "" {
		kills, others = 150, 2500
	} else {
		t.Parallel()
		path = slowGrep(t)
	}
	plainReins(t)
	makeTemp(t, home)
	crowd(t, others)
	rng := rand.New(rand.NewPCG(1, 2))
	var waits []time.Duration
	lives, left := 0, kills
	for left > 0 && !t.Failed() {
		lives++
		s := newStorm(t, home, fmt.Sprintf("storm-%d", lives))
		s.path = path
		for over := false; !over && !t.Failed(); {
			after := time.Duration(-1)
			if left > 0 {
				after = time.Duration(rng.Int64N(int64(effectAfter * 5 / 4)))
			}
			var killed bool
			var wait time.Duration
			killed, over, wait = s.run(after)
			if killed {
				left--
			}
			if wait > 0 {
				waits = append(waits, wait)
			}
		}
		s.check()
		s.server.Close()
	}
	checkNothingLeft(t, home)
	t.Logf("%d kills in %d sessions beside %d other processes; %s", kills-left, lives, others, spread(waits))
}

// slowGrep returns a directory for the PATH with a slow grep, as on a machine with thousands of
// processes.
func slowGrep(t *testing.T) string {
	t.Helper()
	grep, err := exec.LookPath("grep")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nsleep %.3f\nexec %s \"$@\"\n", 2*effectAfter.Seconds(), grep)
	if err := os.WriteFile(filepath.Join(dir, "grep"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir + ":"
}

// effectAfter is how long a command runs before it takes effect.
const effectAfter = 200 * time.Millisecond

// effects is the number of effects of a session.
const effects = 5

// crowd starts idle processes that end with the test.
func crowd(t *testing.T, n int) {
	t.Helper()
	cmd := exec.Command("sh", "-c", `i=0; while [ $i -lt "$1" ]; do sleep 3600 & i=$((i+1)); done; echo up; read x; kill -9 0`, "sh", fmt.Sprint(n))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "up\n" {
		t.Fatalf("the crowd: %q, %v", line, err)
	}
	go io.Copy(io.Discard, out)
}

// storm is a session that is killed repeatedly.
type storm struct {
	*testing.T
	id, home, dir string
	path          string // the first directory of the PATH
	server        *llmtest.Server
	calls         int
	begun         bool
}

func newStorm(t *testing.T, home, id string) *storm {
	t.Helper()
	s := &storm{T: t, id: id, home: home, dir: t.TempDir()}
	if err := os.WriteFile(s.journal(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.server = llmtest.StartServer(llmtest.ServerConfig{Script: &llmtest.Script{Reply: s.reply}, Key: canary})
	return s
}

func (s *storm) journal() string { return filepath.Join(s.dir, "journal.txt") }

// tokens counts the entries of the journal.
func (s *storm) tokens() map[string]int {
	text, err := os.ReadFile(s.journal())
	if err != nil {
		s.Error(err)
	}
	times := make(map[string]int)
	for line := range strings.Lines(string(text)) {
		times[strings.TrimSpace(line)]++
	}
	return times
}

// reply asks for the first missing effect.
func (s *storm) reply(int, *llm.Request) llmtest.Turn {
	there := s.tokens()
	for i := range effects {
		token := fmt.Sprintf("token-%d", i)
		if there[token] > 0 {
			continue
		}
		s.calls++
		command := fmt.Sprintf("sleep %.3f; echo %s >> journal.txt", effectAfter.Seconds(), token)
		return llmtest.Turn{Parts: []llm.Part{llm.ToolCall{
			ID: fmt.Sprintf("call_%d", s.calls), Name: "shell", Arguments: fmt.Sprintf(`{"command":%q}`, command),
		}}}
	}
	return llmtest.Say(taskDone)
}

// run runs the program, and kills it when a command has run for a time; negative is never. It returns
// how long a resumed session took from process start to its first record.
func (s *storm) run(killAfter time.Duration) (killed, over bool, wait time.Duration) {
	// The tools of this profile have the same names with every provider.
	args := []string{"run", "--yes", "--output", "stream-json", "--profile", "generic", "--base-url", s.server.BaseURL("anthropic")}
	resumed := s.begun
	if resumed {
		if s.ended() {
			return false, true, 0
		}
		args = append(args, "--resume", s.id)
	} else {
		args = append(args, "--provider", "anthropic", "--session-id", s.id, "Do the task.")
	}
	cmd := exec.Command(plainReins(s.T), args...)
	cmd.Dir, cmd.Env = s.dir, append(runEnv(s.home), "PATH="+s.path+os.Getenv("PATH"))
	var last string
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.Error(err)
		return false, true, 0
	}
	start := time.Now()
	defer time.AfterFunc(patient, func() { s.Error("a process hangs"); _ = cmd.Process.Kill() }).Stop()
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		if wait == 0 && resumed {
			wait = time.Since(start)
		}
		s.begun, last = true, line
		var r event.Record
		if json.Unmarshal([]byte(line), &r) == nil && r.Kind() == event.KindToolCallStart && killAfter >= 0 {
			defer time.AfterFunc(killAfter, func() { _ = cmd.Process.Kill() }).Stop()
		}
	}
	_ = cmd.Wait()
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return true, false, wait
	}
	if status.ExitStatus() != 0 {
		s.Errorf("%v ended with %d: %s", args, status.ExitStatus(), last)
	}
	return false, true, wait
}

// ended reports whether the work ended before the process was killed.
func (s *storm) ended() bool {
	store, err := filestore.New(filestore.Config{Dir: filepath.Join(s.home, "sessions")})
	if err != nil {
		s.Error(err)
		return true
	}
	for r, err := range store.Load(s.Context(), s.id, 0) {
		if err != nil {
			s.Error(err)
		}
		if _, ok := r.Data.(event.ProcessingEnd); ok {
			return true
		}
	}
	return false
}

// check checks that every effect happened once.
func (s *storm) check() {
	s.Helper()
	there := s.tokens()
	for i := range effects {
		if n := there[fmt.Sprintf("token-%d", i)]; n != 1 {
			s.Errorf("session %s: effect %d happened %d times", s.id, i, n)
		}
	}
}

// spread summarizes durations.
func spread(times []time.Duration) string {
	if len(times) == 0 {
		return "no resumed session"
	}
	var sum, most time.Duration
	for _, d := range times {
		sum += d
		most = max(most, d)
	}
	return fmt.Sprintf("%d resumed sessions showed their first record after %v on average, %v at most",
		len(times), (sum / time.Duration(len(times))).Round(time.Millisecond), most.Round(time.Millisecond))
}
