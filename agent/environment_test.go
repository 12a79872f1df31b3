package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/envtest"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// call is a call to a coding tool.
type call struct {
	tool string
	args map[string]any
}

// work has a scripted model make the calls, one per round, with the real coding tools, and returns how each ended.
func work(t *testing.T, e env.Environment, change func(*agent.Config), calls ...call) []event.ToolCallEnd {
	t.Helper()
	var turns []llmtest.Turn
	for _, c := range calls {
		args, err := json.Marshal(c.args)
		if err != nil {
			t.Fatal(err)
		}
		turns = append(turns, llmtest.Call(c.tool, string(args)))
	}
	c := agent.Config{Client: llmtest.Play(append(turns, llmtest.Say("Done."))...), Model: "m", Env: e, Policy: policy.AllowAll{}, Tools: &tool.Registry{}}
	if err := c.Tools.Register(coding.NewTools(coding.ToolConfig{})...); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&c)
	}
	s, err := agent.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := s.Submit(t.Context(), llm.Text{Text: "go"}); err != nil || out.Status != agent.StatusDone {
		t.Fatalf("got %+v, %v, want no error, StatusDone", out, err)
	}
	s.Close()
	var ends []event.ToolCallEnd
	for r := range s.Events(t.Context(), 0) {
		if d, ok := r.Data.(event.ToolCallEnd); ok {
			ends = append(ends, d)
		}
	}
	return ends
}

// Definition of done, 9.4.
func TestEnvironment_LocalDoesAllFileAndCommandOperations(t *testing.T) {
	ends := work(t, newEnv(t), nil,
		call{"write_file", map[string]any{"file_path": "dir/a.txt", "content": "one\ntwo\n"}},
		call{"edit_file", map[string]any{"file_path": "dir/a.txt", "old_string": "two", "new_string": "three"}},
		call{"read_file", map[string]any{"file_path": "dir/a.txt"}},
		call{"grep", map[string]any{"pattern": "thr.e"}},
		call{"glob", map[string]any{"pattern": "**/*.txt"}},
		call{"list_dir", map[string]any{"path": "dir"}},
		call{"shell", map[string]any{"command": "cat dir/a.txt"}},
	)
	for i, want := range []string{"", "", "three", "three", "a.txt", "a.txt", "one\nthree"} {
		if ends[i].Error != nil || !strings.Contains(ends[i].Model, want) {
			t.Errorf("%s: %v, %q", ends[i].Name, ends[i].Error, ends[i].Model)
		}
	}
}

// recording is an environment as a host may write one: it records which commands were started.
type recording struct {
	env.Environment
	mu      sync.Mutex
	started []env.Command
}

func (r *recording) Start(ctx context.Context, c env.Command) (env.Process, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started = append(r.started, c)
	return r.Environment.Start(ctx, c)
}

// Definition of done, 9.4.
func TestEnvironment_CommandTimeoutIsTenSecondsAndOverridablePerCall(t *testing.T) {
	e := &recording{Environment: newEnv(t)}
	work(t, e, nil,
		call{"shell", map[string]any{"command": "true"}},
		call{"shell", map[string]any{"command": "true", "timeout_ms": 1234}},
		call{"shell", map[string]any{"command": "true", "timeout_ms": 99_000_000}},
	)
	for i, want := range []time.Duration{10 * time.Second, 1234 * time.Millisecond, 10 * time.Minute} {
		if got := e.started[i].Timeout; got != want {
			t.Errorf("command %d may run for %v, want %v", i, got, want)
		}
	}
}

// Definition of done, 9.4.
func TestEnvironment_TimedOutCommandGetsSIGTERMThenSIGKILL(t *testing.T) {
	var ends []event.ToolCallEnd
	limit := 300 * time.Millisecond
	for began := false; !began && limit < time.Minute; limit *= 10 { // a busy machine may need more to begin
		shell := func(trap string) call {
			command := "trap '" + trap + "' TERM; echo begun; while :; do sleep 0.05; done"
			return call{"shell", map[string]any{"command": command, "timeout_ms": limit.Milliseconds()}}
		}
		ends = work(t, newEnv(t), nil, shell("echo asked politely"), shell("echo leaving; exit 0"))
		began = strings.Contains(ends[0].Model, "begun") && strings.Contains(ends[1].Model, "begun")
		for i, e := range ends[:2] {
			want := fmt.Sprintf("timed out after %v", limit)
			if e.Error == nil || e.Error.Code != tool.ShellTimeout || !strings.Contains(e.Model, want) {
				t.Errorf("%d: got %+v, %q, want the code %s and %q", i, e.Error, e.Model, tool.ShellTimeout, want)
			}
		}
	}
	for i, want := range []string{"asked politely", "leaving"} {
		if e := ends[i]; !strings.Contains(e.Model, want) {
			t.Errorf("%d: got %q, want %q in it", i, e.Model, want)
		}
	}
	if s := ends[0].Fields["signal"]; s != "SIGKILL" {
		t.Errorf("the one that would not go was ended by %v", s)
	}
}

// Definition of done, 9.4.
func TestEnvironment_SecretVariablesAreNotPassedOn(t *testing.T) {
	for _, name := range []string{"SOME_API_KEY", "some_secret", "SOME_TOKEN", "SOME_PASSWORD", "SOME_CREDENTIAL"} {
		t.Setenv(name, "canary")
	}
	t.Setenv("GOPATH", "/go-path")
	ends := work(t, newEnv(t), nil, call{"shell", map[string]any{"command": "env"}})
	if out := ends[0].Model; strings.Contains(out, "canary") || !strings.Contains(out, "PATH=") || !strings.Contains(out, "GOPATH=/go-path") {
		t.Errorf("commands see %s", out)
	}
}

// Definition of done, 9.4.
func TestEnvironment_HostsCanImplementIt(t *testing.T) {
	e := envtest.NewMemory("linux") // shares no code with the local environment
	ends := work(t, e, nil,
		call{"write_file", map[string]any{"file_path": "dir/a.txt", "content": "one\ntwo\n"}},
		call{"edit_file", map[string]any{"file_path": "dir/a.txt", "old_string": "two", "new_string": "three"}},
		call{"read_file", map[string]any{"file_path": "dir/a.txt"}},
		call{"grep", map[string]any{"pattern": "thr.e"}},
		call{"glob", map[string]any{"pattern": "**/*.txt"}},
		call{"list_dir", map[string]any{"path": "dir"}},
	)
	for i, want := range []string{"", "", "three", "three", "a.txt", "a.txt"} {
		if ends[i].Error != nil || !strings.Contains(ends[i].Model, want) {
			t.Errorf("%s: %v, %q, want %q", ends[i].Name, ends[i].Error, ends[i].Model, want)
		}
	}
	if got, err := env.ReadFile(t.Context(), e, "/work/dir/a.txt", 0); string(got) != "one\nthree\n" {
		t.Errorf("the file holds %q, %v", got, err)
	}
}

// fixed is a tool with a fixed output.
func fixed(name, output string) tool.Tool {
	spec := tool.Spec{Name: name, Input: json.RawMessage(`{"type":"object"}`), ReadOnly: true, Limit: limits()[name]}
	return tool.NewRaw(spec, nil, func(context.Context, *tool.Call) (tool.Result, error) {
		return tool.Result{Output: tool.Text(output)}, nil
	})
}

// limits are the coding tools' limits, by name.
func limits() map[string]tool.Limit {
	limits := map[string]tool.Limit{}
	for _, t := range coding.NewTools(coding.ToolConfig{}) {
		limits[t.Spec().Name] = t.Spec().Limit
	}
	return limits
}

// Definition of done, 9.5.
func TestTruncate_CharactersFirstThenLines(t *testing.T) {
	long := strings.Repeat("x", 10<<20)
	many := strings.Repeat("line\n", 2000)
	both := strings.Repeat("0123456\n", 19) + "0123456" // 20 lines
	limit := func(c *agent.Config) {
		_ = c.Tools.Register(fixed("shell", long), fixed("grep", many), fixed("both", both))
		c.ToolLimits = map[string]tool.Limit{"both": {Chars: 32, Lines: 4}}
	}
	ends := work(t, newEnv(t), limit, call{"shell", map[string]any{}}, call{"grep", map[string]any{}}, call{"both", map[string]any{}})
	if got := ends[0].Model; len(got) > 31_000 || !strings.Contains(got, "characters were removed") || strings.Contains(got, "lines omitted") {
		t.Errorf("of one long line the model sees %d characters, want about 30,000", len(got))
	}
	if got := ends[1].Model; strings.Count(got, "\n") > 203 || !strings.Contains(got, "lines omitted") {
		t.Errorf("of many lines the model sees %d, want about 200", strings.Count(got, "\n"))
	}
	// 32 characters leave two lines at each end, and five lines with the warning between them. From 20 lines it would
	// be 16.
	if want := "0123456\n0123456\n[... 5 lines omitted ...]\n0123456\n0123456"; ends[2].Model != want {
		t.Errorf("the model sees %q, want %q", ends[2].Model, want)
	}
	if tool.String(ends[0].Output) != long || tool.String(ends[1].Output) != many {
		t.Error("the events do not have all of the output")
	}
}

// Definition of done, 9.5.
func TestTruncate_DefaultLimits(t *testing.T) {
	for name, want := range map[string]tool.Limit{
		"read_file": {Chars: 50_000, Lines: -1, Mode: tool.HeadTail}, "shell": {Chars: 30_000, Lines: 256, Mode: tool.HeadTail},
		"grep": {Chars: 20_000, Lines: 200, Mode: tool.Tail}, "glob": {Chars: 20_000, Lines: 500, Mode: tool.Head},
		"edit_file": {Chars: 10_000, Lines: -1, Mode: tool.Tail}, "apply_patch": {Chars: 10_000, Lines: -1, Mode: tool.Tail},
		"write_file": {Chars: 1_000, Lines: -1, Mode: tool.Tail},
	} {
		if got := limits()[name]; got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// Definition of done, 9.5.
func TestTruncate_LeavesAVisibleMarker(t *testing.T) {
	ends := work(t, newEnv(t), func(c *agent.Config) {
		_ = c.Tools.Register(fixed("dump", strings.Repeat("x", 40_000)), fixed("grep", strings.Repeat("x", 40_000)))
	}, call{"dump", map[string]any{}}, call{"grep", map[string]any{}})
	for i, want := range []string{
		"[WARNING: Tool output was truncated. 10000 characters were removed from the middle.",
		"[WARNING: Tool output was truncated. First 20000 characters were removed.",
	} {
		if !strings.Contains(ends[i].Model, want) {
			t.Errorf("%.200q", ends[i].Model)
		}
	}
}
