package agent

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/secret"
	"github.com/reins-agent/reins/tool"
)

func TestSecrets_ReachNeitherRecordsNorTheModel(t *testing.T) {
	const planted = "planted-value-7"
	secrets, err := secret.New(t.Context(), secret.Config{Vars: []string{"APP_SECRET=" + planted}})
	if err != nil {
		t.Fatal(err)
	}
	leak := fake("leak", false, func(_ context.Context, c *tool.Call, _ string) (tool.Result, error) {
		c.Output([]byte(planted))
		return tool.Success("it is %s", planted), nil
	})
	var deltas []string
	s := open(t, llmtest.Play(calls("leak"), llmtest.Say("done")), func(c *Config) {
		c.Secrets, c.Policy = secrets, policy.Func(func(context.Context, policy.Query) policy.Decision {
			return policy.Decision{Verdict: policy.Ask, Rule: "test"}
		})
		c.Describe = func(context.Context, tool.Request) event.Description {
			return event.Description{Preview: "-" + planted, Diff: planted, Notes: []string{planted}, Parts: []string{planted}}
		}
		c.Approve = func(context.Context, tool.Request) (tool.Approval, error) { return tool.Approval{Allow: true}, nil }
		if err := c.Tools.Register(leak); err != nil {
			t.Fatal(err)
		}
	})
	var wg sync.WaitGroup
	listening := make(chan struct{})
	wg.Go(func() {
		for r, err := range s.Events(context.Background(), 0) {
			if _, first := r.Data.(event.SessionStart); first {
				close(listening)
			}
			if d, ok := r.Data.(event.ToolCallDelta); ok && err == nil {
				deltas = append(deltas, d.Text)
			}
		}
	})
	<-listening
	submit(t, s, "go")
	s.Close()
	wg.Wait()
	if !slices.Equal(deltas, []string{"[redacted:APP_SECRET]"}) {
		t.Errorf("the output appeared as %q", deltas)
	}
	b, err := json.Marshal(s.log.Records(0))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"preview":"-[redacted:APP_SECRET]"`, `"output":"it is [redacted:APP_SECRET]"`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the records have no %s", want)
		}
	}
	if strings.Contains(string(b), planted) {
		t.Errorf("the records have the secret: %s", b)
	}
}

func TestAudit_GetsEveryOutcomeOfTheWholeTreeOnce(t *testing.T) {
	var mu sync.Mutex
	var got []string
	script := play(map[string][]llmtest.Turn{
		"main": {spawn(`{"task":"child"}`), wait("1"), llmtest.Say("Done.")}, "child": {calls("write"), llmtest.Say("Done.")},
	})
	s := open(t, script, func(c *Config) {
		c.ID = "S"
		c.Policy = policy.All(policy.Except("write"), policy.AllowAll{})
		c.Audit = func(session, agent string, o tool.Outcome) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, strings.Join([]string{session, agent, o.Call.Name, o.Decision.Verdict.String()}, " "))
		}
	})
	submit(t, s, "main")
	s.Close()
	slices.Sort(got)
	if want := []string{"S  spawn_agent allow", "S  wait allow", "S 1 write deny"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
