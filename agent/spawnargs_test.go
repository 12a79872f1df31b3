package agent

import (
	"cmp"
	"context"
	"strings"
	"testing"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

func TestSpawn_ModePlanCannotWriteAlsoAfterAResume(t *testing.T) {
	var config Config
	wrote := 0
	writes := acting("writes", func(context.Context, *tool.Call, string) (tool.Result, error) {
		wrote++
		return tool.Success("Written."), nil
	})
	script := map[string][]llmtest.Turn{
		"main": {turn(use("spawn_agent", "task", "one", "mode", "plan")), wait("1"), llmtest.Say("Done."),
			turn(use("send_input", "agent_id", "1", "message", "two")), wait("1"), llmtest.Say("Done.")},
		"one": {calls("writes"), llmtest.Say("Done."), calls("writes"), llmtest.Say("Done.")},
	}
	s := open(t, play(script), func(c *Config) {
		with(writes)(c)
		c.Store, c.Mode = &event.Memory{}, policy.ModeAcceptEdits // a policy that allows everything
		config = *c
	})
	submit(t, s, "main")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	config.ID, config.Client = s.ID(), play(script)
	again, err := Resume(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	submit(t, again, "again")
	got := strings.Join(resultsBy(again, "1"), "\n")
	if wrote != 0 || strings.Count(got, "writes") < 2 {
		t.Errorf("it wrote %d times; results %q", wrote, got)
	}
}

func TestSpawn_ModeIsNeverLessStrictThanThatOfTheParent(t *testing.T) {
	for _, tt := range []struct{ session, mode policy.Mode }{
		{"", policy.ModeBypass}, {policy.ModePlan, policy.ModeDefault}, {policy.ModeAcceptEdits, policy.ModeAuto}, {"", "nonsense"},
	} {
		script := play(map[string][]llmtest.Turn{"main": {turn(use("spawn_agent", "task", "one", "mode", string(tt.mode))), llmtest.Say("Done.")}})
		s := open(t, script, func(c *Config) { c.Mode = tt.session })
		submit(t, s, "main")
		got := resultsBy(s, "")[0]
		want := cmp.Or(map[policy.Mode]string{"nonsense": "nonsense"}[tt.mode], "is less strict than that of this session")
		if !strings.HasPrefix(got, "No agent was spawned") || !strings.Contains(got, want) || len(s.Agents()) != 1 {
			t.Errorf("%s in %s: got %q", tt.mode, tt.session, got)
		}
	}
}

func TestSpawn_TeamBackgroundAndResumeAreObeyedOrRefused(t *testing.T) {
	script := play(map[string][]llmtest.Turn{
		"main": {
			turn(use("spawn_agent", "task", "one", "run_in_background", false)),
			turn(use("spawn_agent", "task", "more", "resume", "1", "run_in_background", false)),
			turn(use("spawn_agent", "task", "more", "resume", "1", "mode", "plan")),
			turn(use("spawn_agent", "task", "more", "resume", "7")),
			turn(use("spawn_agent", "task", "more", "team_name", "red")),
			turn(use("team_create", "name", "red", "members", []string{"1"})),
			turn(use("spawn_agent", "task", "one", "name", "bob", "team_name", "red", "run_in_background", false)),
			llmtest.Say("Done."),
		},
		"one": {llmtest.Say("First."), llmtest.Say("Second.")},
	})
	s := open(t, script, teams)
	submit(t, s, "main")
	for i, want := range []string{"First.", "Second.", "keeps its settings", "7", `no active team "red"`, "Created team red", "First."} {
		if got := resultsBy(s, "")[i]; !strings.Contains(got, want) {
			t.Errorf("%d: got %q, want %q", i, got, want)
		}
	}
	if team := s.Teams()[0]; len(team.Members) != 3 || team.Members[2].Name != "bob" || len(s.Agents()) != 3 {
		t.Errorf("team %+v, agents %+v", team, s.Agents())
	}
	plain := open(t, play(map[string][]llmtest.Turn{"main": {turn(use("spawn_agent", "task", "one", "team_name", "red")), llmtest.Say("Done.")}}), func(*Config) {})
	submit(t, plain, "main")
	if got := resultsBy(plain, "")[0]; !strings.Contains(got, `no active team "red"`) {
		t.Errorf("without teams: %q", got)
	}
}
