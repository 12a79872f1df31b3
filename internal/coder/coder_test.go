package coder

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// keys returns the names in a JSON object.
func keys(t *testing.T, text string) []string {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return slices.Sorted(maps.Keys(m))
}

func TestRun_ReturnsTheDocumentedObjects(t *testing.T) {
	r := newRig(t, llmtest.Say("done"), llmtest.Say("more"), llmtest.Fail(400))
	res := r.run(Request{})
	r.succeeds(res, "done")
	if got := keys(t, asJSON(t, res)); !slices.Equal(got, []string{"SESSION_ID", "result", "success", "tool"}) || res.Tool != "coder" {
		t.Errorf("success has %v", got)
	}
	all := r.run(Request{AllMessages: true, Metrics: true})
	r.succeeds(all, "more")
	if got := keys(t, asJSON(t, all)); !slices.Equal(got, []string{"SESSION_ID", "all_messages", "metrics", "result", "success", "tool"}) {
		t.Errorf("success with everything has %v", got)
	}
	if text := asJSON(t, all.Messages); !strings.Contains(text, "USER_INPUT") || !strings.Contains(text, "the task") {
		t.Errorf("the messages are %s", text)
	}
	if m := all.Metrics; m.ModelCalls != 1 || m.InputTokens == 0 || m.OutputTokens == 0 {
		t.Errorf("the metrics are %+v", *m)
	}
	failed := r.run(Request{MaxDuration: -1})
	r.fails(failed, UpstreamError)
	if got := keys(t, asJSON(t, failed)); !slices.Equal(got, []string{"SESSION_ID", "error", "error_detail", "error_kind", "success", "tool"}) {
		t.Errorf("failure has %v", got)
	}
	want := []string{"exit_code", "idle_timeout_s", "json_decode_errors", "last_lines", "max_duration_s", "message", "retries"}
	if got := keys(t, asJSON(t, failed.Detail)); !slices.Equal(got, want) {
		t.Errorf("error_detail has %v, want %v", got, want)
	}
	if d := failed.Detail; d.IdleTimeout != 300 || d.MaxDuration != 0 || d.ExitCode != nil || len(d.LastLines) == 0 {
		t.Errorf("error_detail is %s", asJSON(t, d))
	}
}

func TestRun_LimitsAreThoseOfTheSpecification(t *testing.T) {
	r := newRig(t, llmtest.Fail(400))
	if d := r.run(Request{}).Detail; d.IdleTimeout != 300 || d.MaxDuration != 1800 || d.Retries != 0 {
		t.Errorf("the defaults are %s", asJSON(t, d))
	}
	if Seconds(0) >= 0 || Seconds(5) != 5*time.Second {
		t.Errorf("Seconds: %v, %v; want no limit and 5 seconds", Seconds(0), Seconds(5))
	}
}

func TestRun_ContinuesASessionAndSaysIfItIsLost(t *testing.T) {
	r := newRig(t, llmtest.Say("one"), llmtest.Say("two"), llmtest.Say("three"), llmtest.Say("four"))
	first := r.run(Request{Prompt: "first"})
	second := r.run(Request{Prompt: "second", Session: first.Session})
	r.succeeds(second, "two")
	if second.Session != first.Session || len(r.model.Requests()[1].Messages) < 4 {
		t.Errorf("session %s continued %s, with %d messages", second.Session, first.Session, len(r.model.Requests()[1].Messages))
	}
	lost := r.run(Request{Session: "NOSUCHSESSION"})
	if !lost.Success || lost.Session == "NOSUCHSESSION" || !strings.Contains(lost.Result, "NOSUCHSESSION was not found") || !strings.Contains(lost.Result, lost.Session) || !strings.HasSuffix(lost.Result, "three") {
		t.Errorf("with a lost session: %s", asJSON(t, lost))
	}
	elsewhere := r.run(Request{Session: first.Session, Dir: t.TempDir()})
	if !elsewhere.Success || elsewhere.Session == first.Session || !strings.Contains(elsewhere.Result, "another directory") {
		t.Errorf("in another directory: %s", asJSON(t, elsewhere))
	}
	if got := r.run(Request{Session: "--yes"}); got.Kind != ConfigError {
		t.Errorf("a flag as a session: %s", asJSON(t, got))
	}
}

func TestRun_AQuestionIsAnAnswer(t *testing.T) {
	r := newRig(t, llmtest.Call("ask_user", `{"question":"Which file?"}`), llmtest.Say("done"))
	res := r.run(Request{})
	r.succeeds(res, "Which file?")
	r.succeeds(r.run(Request{Prompt: "a.go", Session: res.Session}), "done")
}

func TestRun_ConstraintsStandAboveTheTask(t *testing.T) {
	r := newRig(t, llmtest.Say("one"), llmtest.Say("two"), llmtest.Say("three"))
	first := r.run(Request{Prompt: "the task", Contract: "C-1", Guardrails: "G-1", AllowedFiles: []string{"src/**"}})
	system := func(n int) (above, rest string) {
		for i, m := range r.model.Requests()[n].Messages {
			if i == 0 && (m.Role == llm.RoleSystem || m.Role == llm.RoleDeveloper) {
				above = m.Text()
			} else {
				rest += m.Text()
			}
		}
		return above, rest
	}
	above, rest := system(0)
	for _, want := range []string{"C-1", "G-1", "src/**", "take precedence over the task"} {
		if !strings.Contains(above, want) || strings.Contains(rest, want) {
			t.Errorf("%q is not above the task alone:\n%s\n---\n%s", want, above, rest)
		}
	}
	if !strings.Contains(rest, "the task") {
		t.Errorf("the task is missing: %s", rest)
	}
	r.run(Request{Session: first.Session, Contract: "C-2"})
	if above, _ := system(1); !strings.Contains(above, "C-2") || strings.Contains(above, "C-1") {
		t.Errorf("a new contract does not replace the old one: %s", above)
	}
	r.run(Request{Session: first.Session})
	if above, _ := system(2); !strings.Contains(above, "C-2") {
		t.Errorf("without a new contract, the old one does not hold: %s", above)
	}
}

func TestRun_RefusesInvalidRequests(t *testing.T) {
	for name, q := range map[string]Request{
		"directory": {Dir: "/nowhere/at/all"}, "sandbox": {Sandbox: "none"}, "full access": {Sandbox: FullAccess},
		"pattern": {AllowedFiles: []string{"["}}, "absolute pattern": {AllowedFiles: []string{"/etc/**"}}, "pattern outside": {AllowedFiles: []string{"../**"}},
		"retries": {MaxRetries: 11}, "negative retries": {MaxRetries: -1}, "timeout": {IdleTimeout: -1}, "contract": {Contract: strings.Repeat("x", 64<<10+1)},
		"contract and guardrails": {Contract: strings.Repeat("x", 32<<10), Guardrails: strings.Repeat("x", 32<<10+1)},
		"prompt":                  {Prompt: " "},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.fails(r.run(q), ConfigError)
			if n := len(r.model.Requests()); n > 0 {
				t.Errorf("the model was called %d times", n)
			}
		})
	}
	r := newRig(t, llmtest.Say("done"))
	r.config.FullAccess = true
	r.succeeds(r.run(Request{Sandbox: FullAccess}), "done")
}

func TestRun_FailuresOfASession(t *testing.T) {
	stall := llmtest.Turn{Delay: time.Hour}
	for _, c := range []struct {
		name  string
		turns []llmtest.Turn
		q     Request
		want  Kind
	}{
		{"idle", []llmtest.Turn{stall}, Request{IdleTimeout: 50 * time.Millisecond}, IdleTimeout},
		{"duration", []llmtest.Turn{stall}, Request{MaxDuration: 50 * time.Millisecond}, Timeout},
		{"provider", []llmtest.Turn{llmtest.Fail(500)}, Request{}, UpstreamError},
		{"key", []llmtest.Turn{llmtest.Fail(401)}, Request{}, UpstreamError},
		{"refusal", []llmtest.Turn{{Parts: []llm.Part{llm.Text{Text: "no"}}, Finish: llm.FinishContentFilter}}, Request{}, UpstreamError},
		{"malformed", []llmtest.Turn{{Parts: []llm.Part{llm.Text{Text: "x"}}, Fault: llmtest.Fault{Malformed: true}}}, Request{}, JSONDecode},
		{"blank", slices.Repeat([]llmtest.Turn{llmtest.Say(" ")}, 10), Request{}, EmptyResult},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, c.turns...)
			res := r.run(c.q)
			r.fails(res, c.want)
			if res.Session == "" && c.q.IdleTimeout+c.q.MaxDuration == 0 { // a short limit may end it before
				t.Error("the failure has no session")
			}
		})
	}
	t.Run("configuration", func(t *testing.T) {
		r := newRig(t)
		r.config.Session = func(context.Context, string, Sandbox) (coding.Config, error) {
			return coding.Config{}, errors.New("no key")
		}
		r.fails(r.run(Request{}), ConfigError)
	})
	t.Run("no sessions", func(t *testing.T) {
		r := newRig(t, llmtest.Say("done"))
		r.config.State = filepath.Join(r.dir, "file", "state")
		r.write("file", "")
		r.fails(r.run(Request{}), MissingSession)
	})
	t.Run("session in use", func(t *testing.T) {
		r := newRig(t, llmtest.Say("one"), llmtest.Say("two"))
		first := r.run(Request{})
		store, err := home.Dir(r.config.State).OpenSessions(nil)
		if err != nil {
			t.Fatal(err)
		}
		w, err := store.Open(t.Context(), first.Session)
		if err != nil {
			t.Fatal(err)
		}
		res := r.run(Request{Session: first.Session})
		r.fails(res, UnexpectedException)
		if res.Session != first.Session {
			t.Errorf("the session is %q, want %q", res.Session, first.Session)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r.succeeds(r.run(Request{Session: first.Session}), "two")
	})
	t.Run("panic", func(t *testing.T) {
		r := newRig(t)
		r.config.Session = func(context.Context, string, Sandbox) (coding.Config, error) { panic("oh") }
		r.fails(r.run(Request{}), UnexpectedException)
	})
	t.Run("interrupted", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := newRig(t, llmtest.Turn{Delay: time.Hour, Check: func(*llm.Request) error {
			cancel()
			return nil
		}})
		r.fails(Run(ctx, r.config, Request{Prompt: "x", Dir: r.dir}), UnexpectedException)
	})
}

func TestRun_RetriesWithGrowingPauses(t *testing.T) {
	r := newRig(t, llmtest.Fail(500), llmtest.Call("read_file", `{"file_path":"a.txt"}`), llmtest.Fail(500), llmtest.Fail(500), llmtest.Say("done"))
	r.write("a.txt", "hello\n")
	var waits []time.Duration
	r.config.wait = func(_ context.Context, d time.Duration) error {
		waits = append(waits, d)
		return nil
	}
	res := r.run(Request{MaxRetries: 3, Metrics: true})
	r.succeeds(res, "done")
	if want := []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second}; !slices.Equal(waits, want) || res.Metrics.Retries != 3 {
		t.Errorf("the pauses are %v, want %v; retries: %d", waits, want, res.Metrics.Retries)
	}
	tasks := 0
	for _, m := range r.model.Requests()[4].Messages {
		if strings.Contains(m.Text(), "the task") && m.Role == llm.RoleUser {
			tasks++
		}
	}
	if tasks != 1 {
		t.Errorf("the model got the task %d times", tasks)
	}
}

func TestRun_DoesNotRetry(t *testing.T) {
	for name, c := range map[string]struct {
		turns   []llmtest.Turn
		retries int
	}{
		"by default":            {[]llmtest.Turn{llmtest.Fail(500), llmtest.Say("done")}, 0},
		"after a change":        {[]llmtest.Turn{llmtest.Call("write_file", `{"file_path":"b.txt","content":"x"}`), llmtest.Fail(500), llmtest.Say("done")}, 5},
		"after a command":       {[]llmtest.Turn{llmtest.Call("shell", `{"command":"cat a.txt"}`), llmtest.Fail(500), llmtest.Say("done")}, 5},
		"after a wrong key":     {[]llmtest.Turn{llmtest.Fail(401), llmtest.Say("done")}, 5},
		"more than the maximum": {[]llmtest.Turn{llmtest.Fail(500), llmtest.Fail(500), llmtest.Say("done")}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, c.turns...)
			r.write("a.txt", "hello\n")
			r.config.wait = func(context.Context, time.Duration) error { return nil }
			r.fails(r.run(Request{MaxRetries: c.retries}), UpstreamError)
			if n := len(r.model.Requests()); n != len(c.turns)-1 {
				t.Errorf("the model was called %d times, want %d", n, len(c.turns)-1)
			}
		})
	}
}

func TestRun_DoesNotRetryAfterAToolWhoseAccessesAreUnknown(t *testing.T) {
	r := newRig(t, llmtest.Call("remote", `{}`), llmtest.Fail(500), llmtest.Say("done"))
	remote := tool.New(tool.Spec{Name: "remote", Description: "Does something elsewhere."}, nil,
		func(context.Context, *tool.Call, struct{}) (tool.Result, error) { return tool.Success("ok"), nil })
	r.config.Session = func(context.Context, string, Sandbox) (coding.Config, error) {
		return coding.Config{Model: "script", Tools: []tool.Tool{remote}, Session: agent.Config{Client: r.model, Policy: policy.AllowAll{}}}, nil
	}
	r.config.wait = func(context.Context, time.Duration) error { return nil }
	r.fails(r.run(Request{MaxRetries: 5}), UpstreamError)
	if n := len(r.model.Requests()); n != 2 {
		t.Errorf("the model was called %d times, want 2", n)
	}
}

func TestRun_LogsMetrics(t *testing.T) {
	r := newRig(t, llmtest.Say("done"), llmtest.Say("done"))
	var logged []Metrics
	r.config.Log = func(m Metrics) { logged = append(logged, m) }
	r.run(Request{})
	r.run(Request{LogMetrics: true})
	if len(logged) != 1 || logged[0].ModelCalls != 1 {
		t.Errorf("the log has %+v, want the metrics of one run", logged)
	}
}

func TestRun_ReportsChangesOutsideTheScope(t *testing.T) {
	call := func(name string, args map[string]any) llmtest.Turn {
		return llmtest.Call(name, asJSON(t, args))
	}
	write := func(name string) llmtest.Turn {
		return call("write_file", map[string]any{"file_path": name, "content": "new\n"})
	}
	command := func(line string) llmtest.Turn { return call("shell", map[string]any{"command": line}) }
	for _, c := range []struct {
		name    string
		turn    llmtest.Turn
		allowed []string
		want    []Change
	}{
		{"inside", write("src/a.go"), []string{"src/**"}, nil},
		{"outside", write("b.go"), []string{"src/**"}, []Change{{"b.go", "added"}}},
		{"ignored", write("build/x"), []string{"src/**"}, []Change{{"build/x", "added"}}},
		{"no files", write("src/a.go"), []string{}, []Change{{"src/a.go", "added"}}},
		{"all files", write("b.go"), nil, nil},
		{"one level", write("src/deep/a.go"), []string{"src/*"}, []Change{{"src/deep/a.go", "added"}}},
		{"command", command("echo x > old.txt; rm gone.txt; echo y > src/b.go"), []string{"src/**"}, []Change{{"gone.txt", "deleted"}, {"old.txt", "modified"}}},
		{"reverted", command("cp old.txt src/c; echo x > old.txt; cp src/c old.txt"), []string{"src/**"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, c.turn, llmtest.Say("done"))
			r.write(".gitignore", "build/\n")
			r.write("old.txt", "old\n")
			r.write("gone.txt", "old\n")
			r.write("src/main.go", "package main\n")
			res := r.run(Request{AllowedFiles: c.allowed})
			if c.want == nil {
				r.succeeds(res, "done")
				return
			}
			r.fails(res, ScopeViolation)
			if !slices.Equal(res.Detail.Changes, c.want) {
				t.Errorf("the changes are %v, want %v", res.Detail.Changes, c.want)
			}
			for _, change := range c.want {
				if _, err := os.Stat(filepath.Join(r.dir, change.Path)); (err == nil) == (change.Kind == "deleted") {
					t.Errorf("%s was undone", change.Path)
				}
			}
		})
	}
}

func TestRun_ReportsIgnoredFilesThatAToolDeletes(t *testing.T) {
	r := newRig(t, llmtest.Call("read_file", `{"file_path":"build/x"}`), llmtest.Call("delete_file", `{"path":"build/x"}`), llmtest.Say("done"))
	r.write(".gitignore", "build/\n")
	r.write("build/x", "old\n")
	res := r.run(Request{AllowedFiles: []string{"src/**"}})
	r.fails(res, ScopeViolation)
	if want := []Change{{"build/x", "deleted"}}; !slices.Equal(res.Detail.Changes, want) {
		t.Errorf("the changes are %v, want %v", res.Detail.Changes, want)
	}
}

func TestRun_ReportsChangesOutsideTheScopeAfterAnotherFailure(t *testing.T) {
	r := newRig(t, llmtest.Call("write_file", `{"file_path":"b.go","content":"x"}`), llmtest.Fail(500))
	res := r.run(Request{AllowedFiles: []string{"src/**"}})
	r.fails(res, ScopeViolation)
	if len(res.Detail.Changes) != 1 || !strings.Contains(res.Error, "upstream_error") {
		t.Errorf("the result is %s", asJSON(t, res))
	}
}

func TestRun_ReportsChangesOutsideTheScopeAfterAnInterruption(t *testing.T) {
	r := newRig(t, llmtest.Call("write_file", `{"file_path":"b.go","content":"x"}`), llmtest.Turn{Delay: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r.config.Progress = func(string) {
		if _, err := os.Stat(filepath.Join(r.dir, "b.go")); err == nil {
			cancel()
		}
	}
	res := Run(ctx, r.config, Request{Prompt: "the task", Dir: r.dir, AllowedFiles: []string{"src/**"}})
	r.fails(res, ScopeViolation)
	if !slices.Equal(res.Detail.Changes, []Change{{"b.go", "added"}}) || !strings.Contains(res.Error, "interrupted") {
		t.Errorf("the result is %s", asJSON(t, res))
	}
}

func TestRun_DoesNotStartIfChangesCannotBeChecked(t *testing.T) {
	r := newRig(t, llmtest.Say("done"))
	r.write("file", "")
	r.config.State = filepath.Join(r.dir, "file")
	r.fails(r.run(Request{AllowedFiles: []string{"**"}}), ConfigError)
	if n := len(r.model.Requests()); n > 0 {
		t.Errorf("the model was called %d times", n)
	}
}
