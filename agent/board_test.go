package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

func teams(c *Config) { c.Subagents.Teams = true }

// use is a call with arguments in pairs.
func use(name string, pairs ...any) llm.ToolCall {
	args := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		args[pairs[i].(string)] = pairs[i+1]
	}
	b, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return llm.ToolCall{Name: name, Arguments: string(b)}
}

func turn(calls ...llm.ToolCall) (t llmtest.Turn) {
	for _, c := range calls {
		t.Parts = append(t.Parts, c)
	}
	return t
}

// taskIDs matches tasks that a call showed as claimed.
var taskIDs = regexp.MustCompile(`^(task_\d+) \[in_progress`)

// queueWorker claims tasks, want at a time, and completes them until none are left.
func queueWorker(messages []llm.Message, want int) llmtest.Turn {
	var calls []llm.ToolCall
	empty := false
	for _, m := range slices.Backward(messages) {
		if m.Role == llm.RoleAssistant {
			break
		}
		for _, p := range m.Parts {
			r, _ := p.(llm.ToolResult)
			if m := taskIDs.FindStringSubmatch(r.Text()); m != nil {
				calls = append(calls, use("task_update", "task_id", m[1], "status", "completed", "output", "done"))
			}
			empty = empty || strings.Contains(r.Text(), "No task available")
		}
	}
	switch {
	case len(calls) == 0 && empty:
		return llmtest.Say("The queue is empty.")
	case len(calls) == 0:
		for range want {
			calls = append(calls, use("task_update", "claim", true))
		}
	}
	return turn(calls...)
}

// owners counts which agent started which task, from the records.
func owners(t *testing.T, records []event.Record) map[string]string {
	t.Helper()
	started := map[string]string{}
	for _, r := range records {
		d, ok := r.Data.(event.Task)
		if !ok || d.Status != event.TaskInProgress {
			continue
		}
		if started[d.ID] != "" {
			t.Errorf("%s was started by %s and by %s", d.ID, started[d.ID], d.Owner)
		}
		started[d.ID] = d.Owner
	}
	return started
}

func TestTasks_EightAgentsClaimAThousandEachOnce(t *testing.T) {
	const tasks, workers = 1000, 8
	var ready, claimed sync.WaitGroup // no agent starts before all exist, or continues before all have claimed tasks
	ready.Add(workers)
	claimed.Add(workers)
	script := &llmtest.Script{Reply: func(_ int, r *llm.Request) llmtest.Turn {
		answers := len(slices.DeleteFunc(slices.Clone(r.Messages), func(m llm.Message) bool { return m.Role != llm.RoleAssistant }))
		if strings.HasPrefix(r.Messages[1].Text(), "work") {
			switch answers {
			case 0:
				ready.Done()
				ready.Wait()
			case 1:
				claimed.Done()
				claimed.Wait()
			}
			return queueWorker(r.Messages, 20)
		}
		var calls []llm.ToolCall
		switch answers {
		case 0:
			for i := range tasks {
				calls = append(calls, use("task_create", "subject", fmt.Sprint("number ", i)))
			}
		case 1:
			for i := range workers {
				calls = append(calls, use("spawn_agent", "name", fmt.Sprint("w", i), "task", "work"))
			}
		case 2:
			for i := range workers {
				calls = append(calls, use("wait", "agent_id", fmt.Sprint("w", i)))
			}
		default:
			return llmtest.Say("All done.")
		}
		return turn(calls...)
	}}
	s := open(t, nil, func(c *Config) {
		c.Client, c.Subagents.Teams, c.Subagents.MaxTurns, c.LoopWindow = script, true, 2000, -1
	})
	submit(t, s, "main")
	started := owners(t, s.log.Records(0))
	share := map[string]int{}
	for _, name := range started {
		share[name]++
	}
	if len(started) != tasks || len(share) != workers {
		t.Errorf("%d tasks were started by %d agents, want %d by %d: %v", len(started), len(share), tasks, workers, share)
	}
	for _, d := range s.Tasks() {
		if d.Status != event.TaskCompleted || d.Owner != started[d.ID] || d.Output != "done" {
			t.Errorf("got %+v, want it completed by %s", d, started[d.ID])
		}
	}
}

// resultsBy returns the results of an agent's calls, in order.
func resultsBy(s *Session, agent string) (texts []string) {
	for _, r := range s.log.Records(0) {
		if d, ok := r.Data.(event.ToolCallEnd); ok && r.Agent == agent {
			texts = append(texts, d.Model)
		}
	}
	return texts
}

// injectedInto returns the messages from other agents in an agent's records.
func injectedInto(s *Session, agent string, source event.Source) (texts []string) {
	for _, r := range s.log.Records(0) {
		if d, ok := r.Data.(event.SteeringInjected); ok && r.Agent == agent && d.Source == source {
			texts = append(texts, d.Message.Text())
		}
	}
	return texts
}

func TestTasks_ToolsSayWhatTheyDid(t *testing.T) {
	script := play(map[string][]llmtest.Turn{"main": {
		turn(use("task_create", "subject", "Read", "description", "all of it", "metadata", map[string]string{"area": "docs"}), use("task_create", "subject", "Write", "blocked_by", []string{"task_1"})),
		turn(use("task_list"), use("task_get", "task_id", "task_1")),
		turn(use("task_update", "task_id", "task_2", "status", "inProgress"), use("task_update", "claim", true), use("task_list", "status", "inProgress")),
		turn(use("task_update", "claim", true), use("task_update", "task_id", "task_1", "status", "completed", "output", "42 pages")),
		turn(use("task_output", "task_id", "task_1"), use("task_stop", "task_id", "task_2"), use("task_update", "task_id", "task_2", "status", "pending")),
		turn(use("task_list", "status", "pending"), use("task_list", "owner", "main"), use("task_get", "task_id", "task_7"), use("task_update", "status", "failed")),
		llmtest.Say("Done."),
	}})
	s := open(t, script, teams)
	submit(t, s, "main")
	want := []string{
		"Created task_1.", "Created task_2.",
		"task_1 [pending] Read\ntask_2 [pending] Write (blocked by task_1)\n", "task_1 [pending] Read\narea: docs\n\nall of it\n",
		"Nothing was changed: task_2 is blocked by task_1 (pending).", "task_1 [in_progress, main] Read\narea: docs\n\nall of it\n", "task_1 [in_progress, main] Read\n",
		"No task available: all are blocked, assigned or done.", "task_1 [completed, main] Read\narea: docs\n\nall of it\n\nOutput:\n42 pages\n",
		"42 pages", "task_2 [cancelled] Write (blocked by task_1)\n", "Nothing was changed: task_2 is cancelled, which is final.",
		"No matching tasks.\n", "task_1 [completed, main] Read\n", `Nothing was changed: unknown task "task_7".`, "Nothing was changed: task_id is missing.",
	}
	if got := resultsBy(s, ""); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestMail_ReachesAWorkingAgentAtItsNextStepOnce(t *testing.T) {
	started, sent := make(chan struct{}), make(chan struct{})
	hold := fake("hold", true, func(ctx context.Context, c *tool.Call, text string) (tool.Result, error) {
		close(started)
		<-sent
		return tool.Success("held"), nil
	})
	tell := fake("tell", true, func(ctx context.Context, c *tool.Call, text string) (tool.Result, error) {
		if text == "wait" {
			<-started
		} else {
			close(sent)
		}
		return tool.Success("ok"), nil
	})
	script := play(map[string][]llmtest.Turn{
		"main": {
			turn(use("team_create", "name", "crew", "members", []string{"ann"}), use("spawn_agent", "name", "ann", "task", "listen")),
			turn(use("tell", "text", "wait")),
			turn(use("send_message", "to", "ann", "message", "Look left."), use("send_message", "to", "*", "message", "Look right.")),
			turn(use("tell", "text", "go")), turn(use("wait", "agent_id", "ann")), llmtest.Say("Done."),
		},
		"listen": {turn(use("hold", "text", "x")), turn(use("send_message", "to", "main", "message", "I looked.")), llmtest.Say("Heard it.")},
	})
	s := open(t, script, func(c *Config) {
		teams(c)
		with(hold, tell)(c)
	})
	submit(t, s, "main")
	want := []string{"Message from agent main (team crew)\n\nLook left.", "Message from agent main (team crew)\n\nLook right."}
	if got := injectedInto(s, "1", event.SourceMail); !slices.Equal(got, want) {
		t.Errorf("ann got %q, want %q", got, want)
	}
	if got := injectedInto(s, "", event.SourceMail); len(got) != 1 || !strings.Contains(got[0], "I looked.") {
		t.Errorf("main got %q", got)
	}
	var conversation []string
	for _, m := range s.tree.agents["1"].Messages() {
		conversation = append(conversation, string(m.Role))
	}
	if got := strings.Join(conversation, " "); got != "system user assistant tool user user assistant tool assistant" {
		t.Errorf("the conversation of ann is %s", got)
	}
}

func TestMail_WaitsForAnIdleAgentAndSaysSo(t *testing.T) {
	script := play(map[string][]llmtest.Turn{
		"main": {
			turn(use("spawn_agent", "name", "ann", "task", "listen"), use("team_create", "name", "crew", "members", []string{"ann", "bob"})),
			turn(use("wait", "agent_id", "ann")),
			turn(use("send_message", "to", "*", "message", "Hello."), use("send_input", "agent_id", "ann", "message", "go on")),
			turn(use("wait", "agent_id", "ann")),
			llmtest.Say("Done."),
		},
		"listen": {llmtest.Say("Nothing yet."), llmtest.Say("Got it.")},
	})
	s := open(t, script, teams)
	submit(t, s, "main")
	want := "The message was sent to ann, bob. Not working now, so they read it with their next task: ann, bob."
	if got := resultsBy(s, ""); got[3] != want {
		t.Errorf("got %q, want %q", got[3], want)
	}
	if got := injectedInto(s, "1", event.SourceMail); len(got) != 1 {
		t.Errorf("ann got %q", got)
	}
	if info := s.Agents()[1]; info.Name != "ann" || info.Mail != 0 || info.Usage.Output == 0 || !info.Cost.Known && info.Cost.Dollars != 0 {
		t.Errorf("got %+v", info)
	}
}

func TestMail_IdleSessionReadsItWithContinue(t *testing.T) {
	finish := make(chan struct{})
	hold := fake("hold", true, func(ctx context.Context, c *tool.Call, text string) (tool.Result, error) {
		<-finish
		return tool.Success("held"), nil
	})
	script := play(map[string][]llmtest.Turn{
		"main":   {turn(use("spawn_agent", "name", "ann", "task", "listen"), use("team_create", "name", "crew", "members", []string{"ann"})), llmtest.Say("Started."), llmtest.Say("I got mail.")},
		"listen": {turn(use("hold", "text", "x")), turn(use("send_message", "to", "main", "message", "Ready.")), llmtest.Say("Done.")},
	})
	s := open(t, script, func(c *Config) {
		teams(c)
		with(hold)(c)
	})
	submit(t, s, "main")
	close(finish)
	if err := s.waitBelow(t.Context()); err != nil {
		t.Fatal(err)
	}
	out, err := s.Continue(t.Context())
	if err != nil || out.Text != "I got mail." {
		t.Errorf("got %+v, %v", out, err)
	}
	if mail, reports := injectedInto(s, "", event.SourceMail), injectedInto(s, "", event.SourceReport); len(mail) != 1 || len(reports) != 1 || reports[0] != "Agent ann completed its task.\n\nDone." {
		t.Errorf("got mail %q and reports %q", mail, reports)
	}
	if _, err := s.Continue(t.Context()); !errors.Is(err, ErrNothingToContinue) {
		t.Errorf("got %v, want nothing to continue", err)
	}
}

func TestReport_ParentIsToldOnceUnlessItWaited(t *testing.T) {
	waits, done := make(chan struct{}), make(chan struct{})
	pause := fake("pause", true, func(ctx context.Context, c *tool.Call, text string) (tool.Result, error) {
		<-map[string]chan struct{}{"waits": waits, "done": done}[text]
		return tool.Success("ok"), nil
	})
	script := play(map[string][]llmtest.Turn{
		"main": {turn(use("spawn_agent", "task", "one"), use("spawn_agent", "name", "two", "task", "two")), turn(use("wait", "agent_id", "two")), turn(use("pause", "text", "done")), llmtest.Say("Both are done.")},
		"one":  {llmtest.Say("One.")},
		"two":  {turn(use("pause", "text", "waits")), llmtest.Say("Two.")},
	})
	s := open(t, script, func(c *Config) {
		teams(c)
		with(pause)(c)
	})
	go func() {
		for r := range s.Events(t.Context(), 0) {
			switch d := r.Data.(type) {
			case event.ToolCallStart:
				if d.Name == "wait" {
					close(waits)
				}
			case event.SubagentEnd:
				if d.ID == "1" {
					close(done)
				}
			}
		}
	}()
	submit(t, s, "main")
	if got := injectedInto(s, "", event.SourceReport); !slices.Equal(got, []string{"Agent 1 completed its task.\n\nOne."}) {
		t.Errorf("got %q", got)
	}
}

func TestAgents_NamesAreUniqueAndAddressThem(t *testing.T) {
	script := play(map[string][]llmtest.Turn{
		"main": {
			turn(use("spawn_agent", "name", "ann", "task", "one"), use("spawn_agent", "name", "ann", "task", "one"), use("spawn_agent", "name", "a b", "task", "one"), use("spawn_agent", "name", "main", "task", "one")),
			turn(use("wait", "agent_id", "ann")), turn(use("list_agents"), use("close_agent", "agent_id", "ann")), llmtest.Say("Done."),
		},
		"one": {llmtest.Say("One.")},
	})
	s := open(t, script, nil)
	submit(t, s, "main")
	got := resultsBy(s, "")
	want := []string{
		`Agent ann is running. Use wait with agent_id "ann" for its result.`, `No agent was spawned: an agent "ann" already exists.`,
		`No agent was spawned: invalid name "a b": use letters, digits, hyphens and underscores, and begin with a letter, but not with task_.`,
		`No agent was spawned: an agent "main" already exists.`, "Agent ann completed its task in 1 turn.\n\nOne.", "1 ann: completed, 1 turn\n", "Agent ann is closed; it was completed.",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStopAgent_ClosesASubagentOnly(t *testing.T) {
	running := make(chan struct{})
	hold := fake("hold", true, func(ctx context.Context, c *tool.Call, text string) (tool.Result, error) {
		close(running)
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	})
	script := play(map[string][]llmtest.Turn{"main": {turn(use("spawn_agent", "name", "ann", "task", "one")), llmtest.Say("Started.")}, "one": {turn(use("hold", "text", "x"))}})
	s := open(t, script, with(hold))
	submit(t, s, "main")
	<-running
	if err := s.StopAgent("main"); err == nil {
		t.Error("the session was stopped as an agent")
	}
	if err := s.StopAgent("bob"); err == nil {
		t.Error("an unknown agent was stopped")
	}
	if err := s.StopAgent("ann"); err != nil {
		t.Error(err)
	}
	if info := s.Agents()[1]; info.Status != event.SubagentClosed || info.State != Closed {
		t.Errorf("got %+v, want it closed", info)
	}
}

func TestTeams_ToolsAreOfferedOnlyWhereTheyAreOfUse(t *testing.T) {
	offered := func(c Subagents) (names []string) {
		for _, spec := range Offered(Config{Env: nil, Subagents: c}) {
			if slices.Contains(boardNames, spec.Name) {
				names = append(names, spec.Name)
			}
			if size := tool.DefinitionSize([]tool.Tool{tool.New(spec, tool.Nothing, func(context.Context, *tool.Call, struct{}) (tool.Result, error) { return tool.Result{}, nil })}); size > 1100 {
				t.Errorf("the definition of %s takes %d bytes", spec.Name, size)
			}
		}
		return names
	}
	if got := offered(Subagents{}); got != nil {
		t.Errorf("without teams: %v", got)
	}
	if got := offered(Subagents{Teams: true}); !slices.Equal(got, boardNames) {
		t.Errorf("with teams: %v", got)
	}
	if got := offered(Subagents{Teams: true, MaxDepth: -1}); len(got) != 6 {
		t.Errorf("without subagents: %v", got)
	}
	if got := offered(Subagents{Teams: true, Deferred: boardNames}); got != nil {
		t.Errorf("deferred: %v", got)
	}
}

func TestAgentType_ModeOnlyMakesASubagentStricter(t *testing.T) {
	for _, tt := range []struct{ session, kind, want policy.Mode }{
		{policy.ModeAcceptEdits, policy.ModePlan, policy.ModePlan}, {policy.ModePlan, policy.ModeBypass, policy.ModePlan},
		{"", policy.ModeBypass, policy.ModeDefault}, {policy.ModeBypass, "", policy.ModeBypass}, {policy.ModeBypass, policy.ModeDontAsk, policy.ModeDontAsk},
	} {
		var got policy.Mode
		script := play(map[string][]llmtest.Turn{"main": {turn(use("spawn_agent", "agent_type", "kind", "task", "one")), wait("1"), llmtest.Say("Done.")}, "one": {calls("write"), llmtest.Say("Done.")}})
		s := open(t, script, func(c *Config) {
			c.Mode, c.Subagents.Types = tt.session, map[string]AgentType{"kind": {Mode: tt.kind}}
			c.Policy = policy.Func(func(_ context.Context, q policy.Query) policy.Decision {
				if q.Agent == "1" {
					got = q.Mode
				}
				return policy.Decision{Verdict: policy.Allow, Rule: "test"}
			})
		})
		submit(t, s, "main")
		if cmp.Or(got, policy.ModeDefault) != tt.want {
			t.Errorf("%s in %s: got %s, want %s", tt.kind, tt.session, got, tt.want)
		}
	}
}
