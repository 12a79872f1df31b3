package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reins-agent/reins/internal/thorough"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

// TestRun_MemoryDoesNotGrowWithTheOutputOfACommand measures the peak memory of the program, with its defaults, while
// a command prints much more than that.
func TestRun_MemoryDoesNotGrowWithTheOutputOfACommand(t *testing.T) {
	// KiB. Printing every event makes garbage faster than it is collected.
	limits := map[string]int{"text": 60 << 10, "json": 60 << 10, "stream-json": 96 << 10}
	printed := thorough.Of(1000, 300) * 1_000_000
	home := t.TempDir()
	makeTemp(t, home)
	for output, limit := range limits {
		t.Run(output, func(t *testing.T) {
			peak := peakMemory(t, home, output, fmt.Sprintf("yes 'A line of the output of a command, 64 characters with its end.' | head -c %d", printed))
			t.Logf("%d MB of output: %d MiB at most", printed/1_000_000, peak>>10)
			if peak > limit {
				t.Errorf("the program needed %d KiB, want at most %d", peak, limit)
			}
		})
	}
}

// peakMemory runs a command in a session and returns the peak memory of the program in KiB.
func peakMemory(t *testing.T, home, output, command string) int {
	t.Helper()
	var process atomic.Pointer[os.Process]
	var peak atomic.Int64
	look := func() {
		if p := process.Load(); p != nil {
			peak.Store(max(peak.Load(), residentPeak(p.Pid)))
		}
	}
	server := llmtest.StartServer(llmtest.ServerConfig{Key: canary, Script: &llmtest.Script{Reply: func(n int, _ *llm.Request) llmtest.Turn {
		look()
		if n > 0 {
			return llmtest.Say(taskDone)
		}
		return llmtest.Turn{Parts: []llm.Part{llm.ToolCall{ID: "call_1", Name: "shell", Arguments: fmt.Sprintf(`{"command":%q}`, command)}}}
	}}})
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	cmd := exec.CommandContext(ctx, plainReins(t), "run", "--yes", "--provider", "anthropic", "--profile", "generic", "--base-url", server.BaseURL("anthropic"), "--output", output, "Print.")
	cmd.Dir, cmd.Env, cmd.Stderr = t.TempDir(), runEnv(home), os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	process.Store(cmd.Process)
	last := ""
	for lines := bufio.NewReader(out); ; look() {
		line, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		last = cmp.Or(strings.TrimSpace(line), last)
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(last, taskDone) {
		t.Fatalf("it ended with %v and %.200q", err, last)
	}
	return int(peak.Load())
}

// residentPeak returns the peak memory of a running process in KiB, or 0.
func residentPeak(pid int) int64 {
	status, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	n, _ := strconv.ParseInt(strings.TrimSpace(strings.SplitN(rest, "kB", 2)[0]), 10, 64)
	return n
}
