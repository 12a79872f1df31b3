//go:build unix

package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/event/filestore"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/tool"
)

// protocols maps providers to their protocols.
var protocols = map[string]string{"openai": "openai-responses", "chat": "openai-chat", "anthropic": "anthropic", "gemini": "gemini"}

// life is a session and its processes, one after the other.
type life struct {
	*testing.T
	id, home, provider string
	task               *task
	server             *llmtest.Server
	store              *filestore.Store
	printed            map[event.Seq]string // records that its processes printed
	kills, processes   int
	last               map[event.Kind]int // counts of the last printed kind before a kill
}

func newLife(t *testing.T, home, id, provider string, rounds [][]taskStep) *life {
	t.Helper()
	l := &life{T: t, id: id, home: home, provider: provider, task: newTask(t, rounds), printed: make(map[event.Seq]string), last: make(map[event.Kind]int)}
	l.server = llmtest.StartServer(llmtest.ServerConfig{Script: &llmtest.Script{Reply: l.task.reply}, Key: canary})
	var err error
	if l.store, err = filestore.New(filestore.Config{Dir: filepath.Join(home, "sessions")}); err != nil {
		t.Fatal(err)
	}
	return l
}

// moment is when a process is killed: after a number of lines or after a time. The zero value is never.
type moment struct {
	lines int
	after time.Duration
}

// process describes how a process ended.
type process struct {
	killed bool
	last   event.Kind // the last printed; "" if none
	code   int
	lines  int
	took   time.Duration
	result result // if it printed one
	errors string
}

// tempIn is the directory for temporary files of the program.
func tempIn(home string) string { return filepath.Join(home, "tmp") }

// makeTemp creates the directory for temporary files of the program.
func makeTemp(t *testing.T, home string) {
	t.Helper()
	if err := os.MkdirAll(tempIn(home), 0o700); err != nil {
		t.Fatal(err)
	}
}

// checkNothingLeft waits for the watchdogs of killed processes and checks that they left no temporary files.
func checkNothingLeft(t *testing.T, home string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		list, err := os.ReadDir(tempIn(home))
		if err == nil && len(list) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Errorf("the directory for temporary files contains %v, %v", list, err)
			return
		}
	}
}

// plainReins returns the program without the race detector, with which it takes ten times as long to start.
func plainReins(t *testing.T) string {
	t.Helper()
	program, err := buildReins()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// buildReins builds the program once for all tests. TestMain removes it.
var buildReins = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "reins-built-")
	if err != nil {
		return "", err
	}
	atEnd = append(atEnd, func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, "reins")
	out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, "github.com/reins-agent/reins/cmd/reins").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, out)
	}
	return program, err
})

// run runs the program until it ends or is killed, and records its output.
func (l *life) run(end moment, args ...string) (p process) {
	l.processes++
	base := l.server.BaseURL(protocols[l.provider])
	// The tools of this profile have the same names with every provider.
	cmd := exec.Command(plainReins(l.T), append([]string{"run", "--yes", "--output", "stream-json", "--profile", "generic", "--base-url", base}, args...)...)
	cmd.Dir, cmd.Env = l.task.dir, runEnv(l.home)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		l.Error(err)
		return p
	}
	start := time.Now()
	kill := func() { _ = cmd.Process.Kill() }
	if end.after > 0 {
		defer time.AfterFunc(end.after, kill).Stop()
	}
	var hung atomic.Bool
	defer time.AfterFunc(patient, func() {
		hung.Store(true)
		_ = cmd.Process.Signal(syscall.SIGQUIT) // prints the goroutines
		time.AfterFunc(patient/10, kill)
	}).Stop()
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // the last line may be truncated
		}
		if p.lines++; p.lines == end.lines {
			kill()
		}
		l.note(line, &p)
	}
	_ = cmd.Wait()
	if hung.Load() {
		l.Errorf("a process hangs after %d lines, last %q:\n%s", p.lines, p.last, stderr.String())
	}
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	p.took, p.errors, p.killed, p.code = time.Since(start), stderr.String(), status.Signaled(), status.ExitStatus()
	if p.killed {
		l.kills++
		l.last[p.last]++
	}
	return p
}

// runEnv returns the environment of a process with its own state directory.
func runEnv(home string) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8", quickExit, "REINS_HOME=" + home}
	if _, err := os.Stat(tempIn(home)); err == nil {
		env = append(env, "TMPDIR="+tempIn(home))
	}
	for _, name := range []string{"OPENAI", "ANTHROPIC", "GEMINI", "REINS_CHAT"} {
		env = append(env, name+"_API_KEY="+canary)
	}
	return env
}

// note records a printed line.
func (l *life) note(line string, p *process) {
	if strings.HasPrefix(line, `{"type":"result"`) {
		if err := json.Unmarshal([]byte(line), &p.result); err != nil {
			l.Error(err)
		}
		return
	}
	var r event.Record
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		l.Errorf("%v: %.200s", err, line)
		return
	}
	p.last = r.Kind()
	if !r.Durable() {
		return
	}
	if before, ok := l.printed[r.Seq]; ok {
		l.Errorf("the number %d was given out twice:\n%.200s\n%.200s", r.Seq, before, line)
	}
	l.printed[r.Seq] = canonical(r)
}

// canonical returns a record as JSON, with its output inline.
func canonical(r event.Record) string {
	if e, ok := r.Data.(event.ToolCallEnd); ok && e.OutputBlob != nil {
		e.Output, e.OutputBlob = tool.Text(tool.String(e.Output)), nil
		r.Data = e
	}
	b, err := json.Marshal(r)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// saved returns the records in the store. They must include everything that was printed.
func (l *life) saved() (records []event.Record) {
	l.Helper()
	found := 0
	for r, err := range event.Read(l.Context(), l.store, l.id, 0) {
		if errors.Is(err, event.ErrNotFound) && len(l.printed) == 0 {
			return nil
		}
		if err != nil {
			l.Fatal(err)
		}
		records = append(records, r)
		want, ok := l.printed[r.Seq]
		if !ok {
			continue
		}
		found++
		if got := canonical(r); got != want {
			l.Errorf("record %d is saved as\n%.500s\nand was shown as\n%.500s", r.Seq, got, want)
		}
	}
	if found != len(l.printed) {
		l.Errorf("%d records were shown that are not saved", len(l.printed)-found)
	}
	return records
}

// next returns the arguments that continue the session, and whether it is over.
func (l *life) next() (args []string, over bool) {
	l.Helper()
	const prompt = "Do the task."
	asked := false
	records := l.saved()
	for _, r := range records {
		switch r.Data.(type) {
		case event.UserInput:
			asked = true
		case event.ProcessingEnd:
			return nil, true
		}
	}
	if _, err := l.store.Meta(l.Context(), l.id); errors.Is(err, event.ErrNotFound) {
		args := []string{"--provider", l.provider, "--session-id", l.id, prompt}
		if l.provider == "chat" {
			args = append(args, "--model", "gpt-4o")
		}
		return args, false
	}
	if !asked {
		return []string{"--resume", l.id, prompt}, false
	}
	return []string{"--resume", l.id}, false
}

// live runs the session to its end, and kills its processes at the given moments.
func (l *life) live(moments func() moment) {
	l.Helper()
	defer l.server.Close()
	for !l.Failed() {
		args, over := l.next()
		if over {
			break
		}
		p := l.run(moments(), args...)
		if !p.killed && (p.code != 0 || p.result.Text != taskDone) {
			l.Errorf("%v ended with %d and %q: %s", args, p.code, p.result.Text, p.errors)
		}
	}
	if !l.Failed() {
		l.check()
	}
}

// check checks a finished session.
func (l *life) check() {
	l.Helper()
	records := l.saved()
	l.checkEffects(step.Messages(records, ""))
	open := make(map[string]int)
	for _, r := range records {
		switch d := r.Data.(type) {
		case event.ToolCallStart:
			open[d.ID]++
		case event.ToolCallEnd:
			open[d.ID] += 1000
		case event.ProcessingEnd:
			if d.Outcome != agent.StatusDone {
				l.Errorf("the task ended as %s", d.Outcome)
			}
		}
	}
	for id, n := range open {
		if n != 1001 {
			l.Errorf("call %s began %d times and ended %d times", id, n%1000, n/1000)
		}
	}
	for _, v := range l.server.Violations() {
		l.Errorf("the API would refuse: %v", v)
	}
	for _, p := range l.task.problems {
		l.Error(p)
	}
}

// checkEffects checks that every call took effect once, and an interrupted one at most once.
func (l *life) checkEffects(messages []llm.Message) {
	l.Helper()
	if last := messages[len(messages)-1].Text(); last != taskDone {
		l.Errorf("the last word is %q", last)
	}
	times := l.task.ran(l.T)
	for marker, n := range times {
		if n > 1 {
			l.Errorf("the call %s ran %d times", marker, n)
		}
	}
	results := make(map[string]string)
	for _, r := range resultsOfAll(messages) {
		results[r.ID] = r.Text()
	}
	for _, m := range messages {
		for _, c := range m.ToolCalls() {
			marker := strings.TrimPrefix(c.ID, "call_")
			if c.Name != "read_file" && times[marker] == 0 && !interrupted(results[c.ID]) {
				l.Errorf("the call %s has a result and no effect", c.ID)
			}
			if times[marker] > 0 && strings.Contains(results[c.ID], "this tool call was not run") {
				l.Errorf("the call %s took effect and is said not to have run", c.ID)
			}
		}
	}
}

func resultsOfAll(messages []llm.Message) (results []llm.ToolResult) {
	for _, m := range messages {
		results = append(results, resultsOf([]llm.Message{m})...)
	}
	return results
}
