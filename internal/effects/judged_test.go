//go:build linux && (amd64 || arm64)

package effects

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

// batch is the number of lines in one session.
const batch = 40

// lineTimeout is how long one line may run, sessionTimeout how long a whole session.
const (
	lineTimeout    = 20 * time.Second
	sessionTimeout = 10 * time.Minute
)

// judged runs lines through "reins run", in sessions whose model calls the shell tool with one line after another.
type judged struct {
	*observer
	mode string
}

// run runs all lines. A session ends with the first line that changes something, so that the others find the world
// as it was.
func (a judged) run(lines []line) (results []result, err error) {
	for len(lines) > 0 {
		done, err := a.session(lines[:min(batch, len(lines))])
		if err != nil {
			return results, err
		}
		results, lines = append(results, done...), lines[len(done):]
	}
	return results, nil
}

// session runs lines until one of them has an effect.
func (a judged) session(lines []line) ([]result, error) {
	if err := a.begin(); err != nil {
		return nil, err
	}
	defer a.end()
	var results []result
	var failed error
	script := &llmtest.Script{Reply: func(n int, _ *llm.Request) llmtest.Turn {
		changed := false
		if n > 0 && failed == nil {
			results[n-1].effects, failed = a.changes()
			changed = len(results[n-1].effects) > 0
		}
		if n == len(lines) || changed || failed != nil {
			return llmtest.Say("done")
		}
		results = append(results, result{line: lines[n]})
		args, _ := json.Marshal(map[string]any{"command": lines[n].command, "timeout_ms": lineTimeout.Milliseconds()})
		return llmtest.Turn{Parts: []llm.Part{llm.ToolCall{ID: callID(n), Name: "shell", Arguments: string(args)}}}
	}}
	server := llmtest.NewServer(script)
	defer server.Close()
	out, err := a.reins(server.BaseURL("anthropic"))
	if failed != nil {
		return nil, failed
	}
	if err != nil {
		return nil, err
	}
	events, err := readEvents(out)
	if err != nil {
		return nil, err
	}
	for i := range results {
		if err := events[callID(i)].tell(&results[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", results[i].id, err)
		}
		results[i].effects = append(results[i].effects, a.shown(results[i].output)...)
	}
	late, err := a.changes() // of processes that a line left behind
	last := &results[len(results)-1]
	last.effects = append(last.effects, late...)
	return results, err
}

func callID(n int) string { return fmt.Sprintf("call_%03d", n) }

// reins runs the program with its defaults and returns its events. It starts no MCP servers, which only take time: the
// lines are for the shell.
func (a judged) reins(server string) ([]byte, error) {
	cmd := exec.Command(reinsBin, "run", "--mode", a.mode, "--output", "stream-json", "--no-mcp", "Look around.")
	cmd.Dir = a.work
	cmd.Env = append(a.vars(), "ANTHROPIC_BASE_URL="+server, "ANTHROPIC_API_KEY="+canaries["apikey"])
	cmd.SysProcAttr = a.credential()
	var out, side bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &side
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	watchdog := time.AfterFunc(sessionTimeout, func() { _ = cmd.Process.Kill() })
	defer watchdog.Stop()
	_ = cmd.Wait()
	// 4 means that calls were refused because no approver is configured.
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != 4 {
		return nil, fmt.Errorf("reins run exits with %d, want 0 or 4:\n%s%s", code, side.String(), tail(out.String()))
	}
	return out.Bytes(), nil
}

func tail(s string) string { return s[max(0, len(s)-2000):] }

// callEvents are the events about one call.
type callEvents struct {
	text bytes.Buffer // everything that they contain
	end  *callEnd
}

// callEnd is the part of TOOL_CALL_END that the tests use.
type callEnd struct {
	ID       string `json:"id"`
	Output   string `json:"output"`
	Model    string `json:"model_output"`
	Decision struct {
		Verdict string `json:"verdict"`
		Reason  string `json:"reason"`
	} `json:"decision"`
	Error *struct{ Message string } `json:"error"`
}

// readEvents sorts the events by call.
func readEvents(out []byte) (map[string]*callEvents, error) {
	calls := make(map[string]*callEvents)
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e struct {
			Kind string          `json:"kind"`
			Data json.RawMessage `json:"data"`
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("read the events: %w", err)
		}
		if !strings.HasPrefix(e.Kind, "TOOL_CALL_") {
			continue
		}
		var end callEnd
		if err := json.Unmarshal(e.Data, &end); err != nil {
			return nil, fmt.Errorf("read the event %s: %w", e.Kind, err)
		}
		c := calls[end.ID]
		if c == nil {
			c = &callEvents{}
			calls[end.ID] = c
		}
		switch e.Kind {
		case "TOOL_CALL_OUTPUT_DELTA":
			var delta struct{ Text string }
			_ = json.Unmarshal(e.Data, &delta)
			c.text.WriteString(delta.Text)
		case "TOOL_CALL_END":
			c.end = &end
			c.text.WriteString("\n" + strings.Join([]string{end.Output, end.Model, end.Decision.Reason}, "\n"))
			if end.Error != nil {
				c.text.WriteString("\n" + end.Error.Message)
			}
		}
	}
	return calls, lines.Err()
}

// tell adds the events to a call's result.
func (c *callEvents) tell(r *result) error {
	if c == nil || c.end == nil {
		return fmt.Errorf("the call did not end: %s", r.command)
	}
	r.refused = c.end.Decision.Verdict != "allow"
	r.reason, r.output = c.end.Decision.Reason, c.text.String()
	if c.end.Error != nil && r.reason == "" {
		r.reason = c.end.Error.Message
	}
	return nil
}

// modes are those that ask; in the others, commands may do more.
var modes = []string{"default", "plan", "acceptEdits"}

// allowed reports whether a mode permits an effect. In the box, programs may run.
func allowed(mode string, e effect) bool {
	return mode == "acceptEdits" && e.kind == "write" || mode == boxMode && e.kind == "run"
}

// offends returns the effects in a result that a mode does not permit.
func offends(mode string, r result) []effect {
	return slices.DeleteFunc(slices.Clone(r.effects), func(e effect) bool { return allowed(mode, e) })
}
