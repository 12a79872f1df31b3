package agent

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/hook"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
)

func TestHooks_TasksCanBeRefused(t *testing.T) {
	guard := func(in hook.Input) hook.Output {
		if in.Subject == "" || in.Description == "fine" {
			return hook.Output{}
		}
		return hook.Output{Decision: hook.Deny, Reason: string(in.Event) + " of " + in.Task + " refused"}
	}
	script := play(map[string][]llmtest.Turn{"main": {
		turn(use("task_create", "subject", "Bad"), use("task_create", "subject", "Good", "description", "fine")),
		turn(use("task_update", "task_id", "task_2", "description", "not fine", "claim", true)),
		turn(use("task_update", "task_id", "task_2", "status", "completed")),
		turn(use("task_update", "task_id", "task_2", "description", "fine"), use("task_update", "task_id", "task_2", "status", "completed")),
		llmtest.Say("Done."),
	}})
	s := open(t, script, func(c *Config) {
		teams(c)
		c.Hooks = hooks(on(hook.TaskCreated, guard), on(hook.TaskCompleted, guard))
	})
	submit(t, s, "main")
	var got []event.TaskStatus
	for _, d := range s.Tasks() {
		got = append(got, d.Status)
	}
	if want := []event.TaskStatus{event.TaskCancelled, event.TaskCompleted}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	results := strings.Join(resultsBy(s, ""), "\n")
	for _, want := range []string{"task_1 was cancelled by a hook: TaskCreated of task_1 refused", "TaskCompleted of task_2 refused"} {
		if !strings.Contains(results, want) {
			t.Errorf("results are %q, want %q", results, want)
		}
	}
}

func TestHooks_AreToldOfIdleTeammatesAndDirectories(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	see := func(in hook.Input) hook.Output {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, strings.Join([]string{string(in.Event), in.Teammate, in.Team, in.OldDir, in.NewDir}, " "))
		return hook.Output{}
	}
	script := play(map[string][]llmtest.Turn{
		"main": {turn(use("team_create", "name", "red", "members", []string{"ann"})), turn(use("spawn_agent", "name", "ann", "task", "one"), use("spawn_agent", "task", "one")),
			wait("1"), wait("2"), llmtest.Say("Done.")},
		"one": {llmtest.Say("Done.")},
	})
	s := open(t, script, func(c *Config) {
		teams(c)
		c.Hooks = hooks(on(hook.TeammateIdle, see), on(hook.CwdChanged, see))
	})
	submit(t, s, "main")
	e, err := local.New(local.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	old := s.dir()
	for range 2 {
		if err := s.Reconfigure(t.Context(), Change{Env: e}); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"TeammateIdle ann red  ", "CwdChanged   " + old + " " + e.Info().Dir}; !slices.Equal(seen, want) {
		t.Errorf("got %q, want %q", seen, want)
	}
}

func TestHooks_RestrictToolsForTheRestOfTheSession(t *testing.T) {
	restrict := func(behavior hook.Decision) hook.Hook {
		return on(hook.SessionStart, func(hook.Input) hook.Output {
			return hook.Output{Restrict: []hook.Restriction{{Tool: "write", Behavior: behavior}}}
		})
	}
	for behavior, want := range map[hook.Decision]string{hook.Deny: "a hook has denied write", hook.Ask: "write was refused: it needs approval"} {
		var config Config
		script := play(map[string][]llmtest.Turn{"main": {calls("write"), turn(use("spawn_agent", "task", "one")), wait("1"), llmtest.Say("Done.")}, "one": {calls("write"), llmtest.Say("Done.")}})
		s := open(t, script, func(c *Config) {
			c.Store, c.Mode, c.Hooks = &event.Memory{}, policy.ModeBypass, hooks(restrict(behavior))
			config = *c
		})
		submit(t, s, "main")
		for _, agent := range []string{"", "1"} {
			if got := resultsBy(s, agent); !strings.Contains(got[0], want) {
				t.Errorf("%s: agent %q got %q, want %q", behavior, agent, got[0], want)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		config.ID, config.Hooks, config.Client = s.ID(), nil, play(map[string][]llmtest.Turn{"main": {{}, {}, {}, {}, calls("write"), llmtest.Say("Done.")}})
		again, err := Resume(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		submit(t, again, "again")
		if got := resultsBy(again, ""); !strings.Contains(got[len(got)-1], want) {
			t.Errorf("%s: after a resume, got %q, want %q", behavior, got, want)
		}
	}
}
