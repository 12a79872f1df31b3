package hook_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/hook"
)

func newEnv(t *testing.T) *local.Env {
	t.Helper()
	e, err := local.New(local.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func newSet(t *testing.T, hooks ...hook.Hook) *hook.Set {
	t.Helper()
	s, err := hook.New(hooks...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func bash(command string) hook.Input {
	args, _ := json.Marshal(map[string]string{"command": command})
	return hook.Input{Event: hook.PreToolUse, Session: "s1", Dir: "/w", Tool: "Bash", Names: []string{"shell"}, ToolInput: args, Call: "c1"}
}

func TestEvents_TwentyFour(t *testing.T) {
	if n := len(hook.Events()); n != 24 {
		t.Errorf("%d events; want 24", n)
	}
}

func TestMatch_AsClaudeCodeDoes(t *testing.T) {
	nothing := func(context.Context, hook.Input) (hook.Output, error) { return hook.Output{}, nil }
	for _, c := range []struct {
		matcher string
		tool    string
		want    bool
	}{
		{"", "Bash", true}, {"*", "Bash", true}, {"Bash", "Bash", true}, {"bash", "Bash", false},
		{"Bash", "BashOutput", false}, {"Edit|Write", "Write", true}, {"Edit | Write", "Write", true}, {"Edit|Write", "MultiEdit", false},
		{"Edit.*", "MultiEdit", true}, {"^Edit", "MultiEdit", false}, {"mcp__memory__.*", "mcp__memory__get", true}, {"shell", "Bash", true},
	} {
		s := newSet(t, hook.Hook{Event: hook.PreToolUse, Matcher: c.matcher, Func: nothing})
		in := hook.Input{Event: hook.PreToolUse, Tool: c.tool, Names: []string{"shell"}}
		if got := len(s.Match(in)) == 1; got != c.want {
			t.Errorf("matcher %q and tool %s: %v, want %v", c.matcher, c.tool, got, c.want)
		}
		in.Event = hook.PostToolUse
		if len(s.Match(in)) != 0 {
			t.Errorf("a hook of another event matches")
		}
	}
	s := newSet(t, hook.Hook{Event: hook.SessionStart, Matcher: "resume", Func: nothing}, hook.Hook{Event: hook.Stop, Matcher: "anything", Func: nothing})
	if s.Match(hook.Input{Event: hook.SessionStart, Source: "startup"}) != nil || s.Match(hook.Input{Event: hook.SessionStart, Source: "resume"}) == nil {
		t.Error("the matcher of SessionStart does not select by source")
	}
	if s.Match(hook.Input{Event: hook.Stop}) == nil {
		t.Error("the matcher of Stop is not ignored")
	}
}

func TestNew_RejectsWhatCannotRun(t *testing.T) {
	f := func(context.Context, hook.Input) (hook.Output, error) { return hook.Output{}, nil }
	for want, h := range map[string]hook.Hook{
		"unknown event":       {Event: "preToolUse", Command: "true"},
		"function or command": {Event: hook.Stop},
		"or a command":        {Event: hook.Stop, Command: "true", Func: f},
		"negative":            {Event: hook.Stop, Command: "true", Timeout: -1},
		"invalid matcher":     {Event: hook.Stop, Command: "true", Matcher: "("},
		"use allow or block":  {Event: hook.Stop, Command: "true", OnError: "ignore"},
	} {
		if want == "function or command" {
			want = "a function or a command"
		}
		if _, err := hook.New(h); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New(%+v) returns %v, want %q", h, err, want)
		}
	}
}

func TestRun_AnswersOfCommands(t *testing.T) {
	e := newEnv(t)
	answer := "something"
	for name, c := range map[string]struct {
		event   hook.Event
		command string
		want    hook.Output
	}{
		"silence":             {hook.PreToolUse, "true", hook.Output{}},
		"plain text":          {hook.PreToolUse, "echo fine", hook.Output{}},
		"exit 2":              {hook.PreToolUse, "echo no rm >&2; echo '{'; exit 2", hook.Output{Decision: hook.Deny, Reason: "no rm"}},
		"exit 2, no reason":   {hook.PreToolUse, "exit 2", hook.Output{Decision: hook.Deny, Reason: "no reason given"}},
		"old decision":        {hook.PreToolUse, `echo '{"decision":"block","reason":"no"}'`, hook.Output{Decision: hook.Deny, Reason: "no"}},
		"deny":                {hook.PreToolUse, `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}'`, hook.Output{Decision: hook.Deny, Reason: "no"}},
		"log, then deny":      {hook.PreToolUse, `echo checking; echo; echo '{"decision":"block","reason":"no"}'`, hook.Output{Decision: hook.Deny, Reason: "no"}},
		"misplaced deny":      {hook.PreToolUse, `echo '{"permissionDecision":"deny","reason":"no"}'`, hook.Output{Decision: hook.Deny, Reason: "no"}},
		"text with braces":    {hook.UserPromptSubmit, `printf 'look:\n{ x\n'`, hook.Output{Context: "look:\n{ x"}},
		"ask":                 {hook.PreToolUse, `echo '{"hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"sure?"}}'`, hook.Output{Decision: hook.Ask, Reason: "sure?"}},
		"defer":               {hook.PreToolUse, `echo '{"hookSpecificOutput":{"permissionDecision":"defer"}}'`, hook.Output{Decision: hook.Ask}},
		"rewrite":             {hook.PreToolUse, `echo '{"hookSpecificOutput":{"updatedInput":{"command":"ls"},"additionalContext":"I changed it"}}'`, hook.Output{Input: []byte(`{"command":"ls"}`), Context: "I changed it"}},
		"stop":                {hook.PostToolUse, `echo '{"continue":false,"stopReason":"enough","systemMessage":"note"}'`, hook.Output{Stop: true, StopReason: "enough", Message: "note"}},
		"permission":          {hook.PermissionRequest, `echo '{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"never","interrupt":true}}}'`, hook.Output{Decision: hook.Deny, Reason: "never", Stop: true, StopReason: "never"}},
		"text is context":     {hook.UserPromptSubmit, "echo It is Monday.", hook.Output{Context: "It is Monday."}},
		"context":             {hook.SessionStart, `echo '{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"hi"}}'`, hook.Output{Context: "hi"}},
		"exit 2 for the user": {hook.SessionStart, "echo oops >&2; exit 2", hook.Output{Message: "oops"}},
		"exit 2 afterwards":   {hook.PostToolUse, "echo lint >&2; exit 2", hook.Output{Decision: hook.Deny, Reason: "lint"}},
		"other output":        {hook.PostToolUse, `echo '{"hookSpecificOutput":{"updatedToolOutput":"something"}}'`, hook.Output{Response: &answer}},
	} {
		in := bash("x")
		in.Event = c.event
		r := newSet(t, hook.Hook{Event: c.event, Command: c.command}).Run(t.Context(), e, in)
		if len(r.Runs) != 1 || r.Runs[0].Err != nil {
			t.Errorf("%s: %+v", name, r.Runs)
		}
		if diff := cmp.Diff(c.want, r.Output); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

// failing lists commands that fail, in every way there is.
var failing = map[string]string{
	"exit code":       "exit 1",
	"not found":       "no-such-program-anywhere",
	"missing script":  "./missing.sh",
	"crash":           "kill -SEGV $$",
	"late":            "sleep 600",
	"garbage":         `echo '{"decision": deny}'`,
	"half an answer":  `printf '{"hookSpecificOutput":{"permissionDecision":"allow"'`,
	"two answers":     `echo '{}{"decision":"block"}'`,
	"wrong decision":  `echo '{"decision":"denied"}'`,
	"wrong type":      `echo '{"decision":true}'`,
	"wrong event":     `echo '{"hookSpecificOutput":{"hookEventName":"SessionEnd","permissionDecision":"allow"}}'`,
	"input no object": `echo '{"hookSpecificOutput":{"updatedInput":"rm"}}'`,
	"too much":        "head -c 1000000 /dev/zero | tr '\\0' x",
}

func TestRun_AFailingGuardDenies(t *testing.T) {
	e := newEnv(t)
	for _, event := range []hook.Event{hook.PreToolUse, hook.PermissionRequest, hook.PostToolUse, hook.UserPromptSubmit} {
		for name, command := range failing {
			h := hook.Hook{Event: event, Command: command}
			if name == "late" {
				h.Timeout = 50 * time.Millisecond
			}
			in := bash("x")
			in.Event = event
			for on, want := range map[hook.OnError]bool{
				"": event == hook.PreToolUse || event == hook.PermissionRequest, hook.AllowOnError: false, hook.BlockOnError: event != hook.PostToolUse,
			} {
				h.OnError = on
				r := newSet(t, h).Run(t.Context(), e, in)
				if got := r.Decision == hook.Deny; got != want || r.Runs[0].Err == nil {
					t.Errorf("%s, %s, on_error %q: denied is %v (%v), want %v", event, name, on, got, r.Runs[0].Err, want)
				}
				if want && !strings.Contains(r.Reason, "failed") {
					t.Errorf("%s, %s: the reason is %q", event, name, r.Reason)
				}
			}
		}
	}
}

func TestRun_CommandsGetTheInputOfClaudeCode(t *testing.T) {
	e := newEnv(t)
	dir := e.Info().Dir
	s := newSet(t, hook.Hook{Event: hook.PreToolUse, Command: `cat > in.json; echo "$CLAUDE_PROJECT_DIR|$REINS_PROJECT_DIR|$HOOK_EVENT|$HOOK_TOOL_NAME|$HOOK_SESSION_ID|$HOOK_CWD" > vars`}).InProject("/project")
	if r := s.Run(t.Context(), e, bash("ls -l")); r.Decision != hook.None {
		t.Fatalf("%+v", r)
	}
	var got map[string]any
	data, err := os.ReadFile(filepath.Join(dir, "in.json"))
	if err == nil {
		err = json.Unmarshal(data, &got)
	}
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"session_id": "s1", "transcript_path": "", "cwd": "/w", "hook_event_name": "PreToolUse", "tool_name": "Bash",
		"tool_input": map[string]any{"command": "ls -l"}, "tool_use_id": "c1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	vars, _ := os.ReadFile(filepath.Join(dir, "vars"))
	if got, want := string(vars), "/project|/project|PreToolUse|Bash|s1|/w\n"; got != want {
		t.Errorf("variables are %q, want %q", got, want)
	}
}

func TestRun_InOrderAndTheStrictestWins(t *testing.T) {
	var order []string
	say := func(name string, out hook.Output) hook.Hook {
		return hook.Hook{Event: hook.PreToolUse, Name: name, Func: func(_ context.Context, in hook.Input) (hook.Output, error) {
			order = append(order, name+string(in.ToolInput))
			return out, nil
		}}
	}
	s := newSet(t,
		say("a", hook.Output{Decision: hook.Allow, Reason: "fine"}), say("b", hook.Output{Input: []byte(`{"n":2}`), Context: "b"}),
		say("c", hook.Output{Decision: hook.Deny, Reason: "no"}), say("d", hook.Output{Decision: hook.Ask, Reason: "hm", Context: "d"}),
		say("e", hook.Output{Decision: hook.Deny, Reason: "never"}))
	r := s.Run(t.Context(), nil, hook.Input{Event: hook.PreToolUse, ToolInput: []byte(`{"n":1}`)})
	if diff := cmp.Diff(hook.Output{Decision: hook.Deny, Reason: "no\nnever", Input: []byte(`{"n":2}`), Context: "b\nd"}, r.Output); diff != "" {
		t.Error(diff)
	}
	if got, want := strings.Join(order, " "), `a{"n":1} b{"n":1} c{"n":2} d{"n":2} e{"n":2}`; got != want {
		t.Errorf("ran %s, want %s", got, want)
	}
}

func TestRun_ACommandThatIsListedTwiceRunsOnce(t *testing.T) {
	e := newEnv(t)
	h := hook.Hook{Event: hook.PreToolUse, Command: "echo x >> ran"}
	other := h
	other.Matcher = "Bash"
	if r := newSet(t, h, other, h).Run(t.Context(), e, bash("x")); len(r.Runs) != 1 {
		t.Errorf("%d runs", len(r.Runs))
	}
	if b, _ := os.ReadFile(filepath.Join(e.Info().Dir, "ran")); string(b) != "x\n" {
		t.Errorf("it ran %d times", len(b)/2)
	}
}

func TestRun_AFunctionThatFailsDenies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		for name, f := range map[string]func(context.Context, hook.Input) (hook.Output, error){
			"error":    func(context.Context, hook.Input) (hook.Output, error) { return hook.Output{}, errors.New("broken") },
			"panic":    func(context.Context, hook.Input) (hook.Output, error) { panic("broken") },
			"late":     func(context.Context, hook.Input) (hook.Output, error) { <-release; return hook.Output{}, nil },
			"nonsense": func(context.Context, hook.Input) (hook.Output, error) { return hook.Output{Decision: "perhaps"}, nil },
		} {
			s := newSet(t, hook.Hook{Event: hook.PreToolUse, Func: f})
			start := time.Now()
			if r := s.Run(t.Context(), nil, bash("x")); r.Decision != hook.Deny {
				t.Errorf("%s: %+v", name, r.Output)
			}
			if took := time.Since(start); name == "late" && took != 60*time.Second {
				t.Errorf("the default timeout is %v, want 60s", took)
			}
		}
		close(release)
	})
}

func TestRun_LongContextIsTruncated(t *testing.T) {
	e := newEnv(t)
	s := newSet(t, hook.Hook{Event: hook.SessionStart, Command: "head -c 20000 /dev/zero | tr '\\0' x"})
	r := s.Run(t.Context(), e, hook.Input{Event: hook.SessionStart})
	if len(r.Context) > 10_100 || !strings.HasSuffix(r.Context, "[... 10000 more bytes]") {
		t.Errorf("%d bytes: …%s", len(r.Context), r.Context[len(r.Context)-40:])
	}
}

func TestReadClaude(t *testing.T) {
	list, err := hook.ReadClaude([]byte(`{"model":"x","hooks":{
		"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"guard","timeout":5,"onFailure":"block"},{"type":"prompt","prompt":"ok?"}]}],
		"Stop":[{"hooks":[{"type":"command","command":"a"},{"type":"command","command":"b","async":true},{"type":"command","command":"c","if":"Bash(rm *)"}]}],
		"InstructionsLoaded":[{"hooks":[{"type":"command","command":"d"}]}],
		"CwdChanged":[{"hooks":[{"type":"command","command":"e"}]}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range list {
		got = append(got, strings.Join([]string{string(f.Event), f.Matcher, f.Command, f.Timeout.String(), string(f.OnError), f.Inactive}, ";"))
	}
	want := []string{
		"CwdChanged;;e;0s;;", `InstructionsLoaded;;d;0s;;unknown event "InstructionsLoaded"`,
		"PreToolUse;Bash;guard;5s;block;", `PreToolUse;Bash;;0s;;hooks of type "prompt" are not supported`,
		"Stop;;a;0s;;", "Stop;;b;0s;;async hooks are not supported", "Stop;;c;0s;;conditions (if) are not supported",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if list, err := hook.ReadClaude([]byte(`{"disableAllHooks":true,"hooks":{"Stop":[{"hooks":[{"type":"command","command":"a"}]}]}}`)); err != nil || len(list) != 1 || list[0].Inactive == "" {
		t.Errorf("%+v, %v", list, err)
	}
	for _, bad := range []string{"", "[]", `{"hooks":[]}`, `{"hooks":{"Stop":{}}}`} {
		if _, err := hook.ReadClaude([]byte(bad)); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestCommand_RestrictsAndNotifies(t *testing.T) {
	for _, c := range []struct {
		answer string
		want   hook.Output
		err    string
	}{
		{`{"permissionUpdate":{"tool":"Bash","behavior":"deny"}}`, hook.Output{Restrict: []hook.Restriction{{Tool: "Bash", Behavior: hook.Deny}}}, ""},
		{`{"notification":{"title":"Disk","body":"almost full","level":"warning"}}`, hook.Output{Message: "almost full", Title: "Disk", Level: "warning"}, ""},
		{`{"permissionUpdate":{"tool":"Bash","behavior":"allow"}}`, hook.Output{}, "hooks can only restrict"},
		{`{"permissionUpdate":{"behavior":"deny"}}`, hook.Output{}, "names no tool"},
		{`{"notification":{"body":"x","level":"loud"}}`, hook.Output{}, `unknown notification level "loud"`},
	} {
		r := newSet(t, hook.Hook{Event: hook.PostCompact, Command: "echo '" + c.answer + "'"}).Run(t.Context(), newEnv(t), hook.Input{Event: hook.PostCompact})
		if diff := cmp.Diff(c.want, r.Output); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.answer, diff)
		}
		if err := r.Runs[0].Err; c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) || c.err == "" && err != nil {
			t.Errorf("%s: error %v, want %q", c.answer, err, c.err)
		}
	}
}
