package step_test

import (
	"strings"
	"testing"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// crew is a session with a team: main, ann and bob; carl is not a member.
func crew(t *testing.T) *course {
	t.Helper()
	c := team()
	c.add(event.SubagentStart{ID: "3", Name: "carl", Task: "c"})
	d, err := c.NewTeam("", "crew", []string{"ann", "2", "later"})
	if err != nil {
		t.Fatal(err)
	}
	c.by("", d)
	return c
}

// send sends a message and returns its recipients, or the error.
func (c *course) send(agent string, d event.Mail) string {
	d, err := c.NewMail(agent, d)
	if err != nil {
		return err.Error()
	}
	c.by(agent, d)
	return strings.Join(d.To, " ")
}

func to(name string) event.Mail { return event.Mail{To: []string{name}, Content: "hello"} }

func typed(kind event.MailType, name string) event.Mail {
	return event.Mail{To: []string{name}, Type: kind}
}

func TestMail_OnlyBetweenMembersOfAnActiveTeam(t *testing.T) {
	for _, tt := range []struct {
		name, agent string
		mail        event.Mail
		want        string
	}{
		{"to a member", "", to("ann"), "ann"},
		{"by path", "1", to("2"), "bob"},
		{"to one that does not exist yet", "1", to("later"), "later"},
		{"to all", "1", to("*"), "main bob later"},
		{"to an outsider", "1", to("carl"), "carl is not a member of your team: use main, bob, later or *"},
		{"to oneself", "1", to("ann"), "ann is not a member of your team: use main, bob, later or *"},
		{"by an outsider", "3", to("ann"), "you are not a member of an active team"},
		{"by an outsider to all", "3", to("*"), "you are not a member of an active team"},
		{"in another team", "1", event.Mail{Team: "x", To: []string{"bob"}, Content: "hello"}, "you are not a member of an active team x"},
		{"without text", "1", typed(event.MailText, "bob"), "the message is empty"},
		{"of an unknown type", "1", typed("order", "bob"), `unknown message type "order"`},
		{"shutdown by the leader", "", typed(event.MailShutdownRequest, "ann"), "ann"},
		{"shutdown by a member", "1", typed(event.MailShutdownRequest, "bob"), "only the leader of a team sends a shutdown_request"},
		{"answer to the leader", "1", typed(event.MailShutdownResponse, "main"), "main"},
		{"answer to all", "1", typed(event.MailShutdownResponse, "*"), "a shutdown_response goes to the leader of the team, main"},
		{"plan to the leader", "1", typed(event.MailPlanRequest, "main"), "main"},
		{"plan to a member", "1", typed(event.MailPlanRequest, "bob"), "a plan_approval_request goes to the leader of the team, main"},
		{"approval by a member", "1", typed(event.MailPlanResponse, "bob"), "only the leader of a team sends a plan_approval_response"},
		{"too long", "", event.Mail{To: []string{"ann"}, Content: strings.Repeat("x", 100_001)}, "the message is longer than 100000 bytes: write it to a file"},
	} {
		if got := crew(t).send(tt.agent, tt.mail); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	c := crew(t)
	d, err := c.Disband("", "crew")
	if err != nil {
		t.Fatal(err)
	}
	c.by("", d)
	if got := c.send("", to("ann")); got != "you are not a member of an active team" {
		t.Errorf("after the team was disbanded: %q", got)
	}
	if _, err := c.Disband("", "crew"); err == nil {
		t.Error("a disbanded team was disbanded")
	}
	if _, err := c.NewTeam("", "crew", []string{"ann"}); err == nil {
		t.Error("the name of a disbanded team was used again")
	}
}

func TestMail_AnAgentHasAtMost1000MessagesThatItHasNotRead(t *testing.T) {
	c := crew(t)
	for i := range 1000 {
		if got := c.send("1", to("bob")); got != "bob" {
			t.Fatalf("message %d: %s", i, got)
		}
	}
	if got, want := c.send("1", to("bob")), "bob has 1000 messages that it has not read"; got != want {
		t.Errorf("one more: got %q, want %q", got, want)
	}
	if got := c.send("1", event.Mail{To: []string{"*"}, Content: "hello"}); got != "bob has 1000 messages that it has not read" {
		t.Errorf("one more to all: got %q", got)
	}
	if got := c.send("1", to("main")); got != "main" {
		t.Errorf("to another agent: got %q", got)
	}
}

func TestTeam_CreatorLeadsAgentsBelowItOnly(t *testing.T) {
	c := team()
	for _, tt := range []struct {
		agent   string
		members []string
		ok      bool
	}{
		{"", []string{"ann", "bob"}, true}, {"", []string{"later"}, true}, {"", nil, false}, {"", []string{"a b"}, false},
		{"1", []string{"1/1"}, true}, {"1", []string{"bob"}, false}, {"1", []string{"main"}, false}, {"1", []string{"later"}, false},
	} {
		d, err := c.NewTeam(tt.agent, "t", tt.members)
		if tt.ok != (err == nil) {
			t.Errorf("%q with %v: %v", tt.agent, tt.members, err)
		}
		if err == nil && (d.Members[0] != event.Member{Name: c.Name(tt.agent), Role: event.RoleLeader}) {
			t.Errorf("%q with %v: the team is %+v", tt.agent, tt.members, d)
		}
	}
	d, _ := c.NewTeam("", "t", []string{"ann"})
	c.by("", d)
	if _, err := c.Disband("1", "t"); err == nil {
		t.Error("a member disbanded the team")
	}
}

// injected returns the messages from other agents that an agent's next records add.
func (c *course) injected(agent string) (texts []string) {
	for {
		a, ok := c.Agent(agent).Next().(step.Append)
		if !ok {
			return texts
		}
		if d, ok := a.Data.(event.SteeringInjected); ok {
			texts = append(texts, d.Message.Text())
		}
		c.by(agent, a.Data)
	}
}

func TestMail_EntersTheConversationOnceBetweenTwoSteps(t *testing.T) {
	c := crew(t)
	c.answer(llm.FinishToolCalls, llm.ToolCall{ID: "c", Name: "echo", Arguments: "{}"})
	c.send("1", to("main"))
	if a, ok := c.Agent("").Next().(step.RunTools); !ok {
		t.Fatalf("got %T while a call is open", a)
	}
	c.add(event.ToolCallStart{ID: "c", Name: "echo"}, event.ToolCallEnd{ID: "c", Name: "echo", Model: "ok"})
	want := "Message from agent ann (team crew)\n\nhello"
	if got := c.injected(""); len(got) != 1 || got[0] != want {
		t.Fatalf("got %q, want %q", got, want)
	}
	if got := c.injected(""); got != nil {
		t.Errorf("got %q again", got)
	}
}

func TestMail_KeepsAnAgentWorkingThatIsDone(t *testing.T) {
	c := crew(t)
	c.answer(llm.FinishStop, llm.Text{Text: "Done."})
	c.send("2", to("main"))
	if got := c.injected(""); len(got) != 1 {
		t.Fatalf("got %q", got)
	}
	if a, ok := c.Agent("").Next().(step.CallModel); !ok {
		t.Errorf("got %T after the message, want a model call", a)
	}
}

func TestMail_WaitsForAnIdleAgent(t *testing.T) {
	c := crew(t)
	c.answer(llm.FinishStop, llm.Text{Text: "Done."})
	c.next()
	c.send("1", to("main"))
	if a, ok := c.Agent("").Next().(step.Stop); !ok {
		t.Errorf("got %T, want a stop", a)
	}
	if d, ok := c.Agent("").Resumption(); !ok || d != (event.Continue{}) {
		t.Errorf("got %v, %v: the message cannot be read", d, ok)
	}
	c.add(event.SessionResume{}, event.UserInput{Message: llm.UserText("go on")})
	if got := c.injected(""); len(got) != 1 {
		t.Errorf("got %q with the next input", got)
	}
}

func TestReport_EntersTheConversationOnceUnlessACallReturnedIt(t *testing.T) {
	for _, tt := range []struct {
		name   string
		end    event.SubagentEnd
		result string // agent whose result a call returned
		want   string
	}{
		{"completed", event.SubagentEnd{ID: "1", Status: event.SubagentCompleted, Output: "It is 7."}, "", "Agent ann completed its task.\n\nIt is 7."},
		{"failed", event.SubagentEnd{ID: "1", Status: event.SubagentFailed, Reason: "max_turns"}, "", "Agent ann did not complete its task: max_turns"},
		{"closed", event.SubagentEnd{ID: "1", Status: event.SubagentClosed}, "", ""},
		{"waiting", event.SubagentEnd{ID: "1", Status: event.SubagentWaiting}, "", ""},
		{"returned", event.SubagentEnd{ID: "1", Status: event.SubagentCompleted}, "1", ""},
		{"another returned", event.SubagentEnd{ID: "1", Status: event.SubagentCompleted}, "2", "Agent ann completed its task."},
	} {
		c := team()
		c.answer(llm.FinishToolCalls, llm.ToolCall{ID: "c", Name: "wait", Arguments: "{}"})
		c.add(event.ToolCallStart{ID: "c", Name: "wait"}, tt.end, event.ToolCallEnd{ID: "c", Name: "wait", Model: "ok", Reports: tt.result})
		if got := strings.Join(c.injected(""), "|"); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
		if got := c.injected(""); got != nil {
			t.Errorf("%s: got %q again", tt.name, got)
		}
	}
	c := begin(event.ModelSetup{}, event.Rules{}, event.SubagentStart{ID: "1"}, event.SubagentEnd{ID: "1", Status: event.SubagentCompleted})
	if got := c.injected(""); got != nil {
		t.Errorf("got %q without the rule", got)
	}
}
