package feature

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/env/envtest"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// clockRig is a session with a schedule, in the time of synctest, which begins at midnight on 2000-01-01.
type clockRig struct {
	*testing.T
	store   event.Store
	session *agent.Session
	stop    func()
}

// start opens the session, or resumes it, and runs its schedule.
func (g *clockRig) start() {
	g.Helper()
	sched := &Schedule{Location: time.UTC}
	c := agent.Config{
		ID: "s", Client: &llmtest.Script{Reply: func(_ int, r *llm.Request) llmtest.Turn { return nextCall(r) }},
		Model: "m", Env: envtest.NewMemory("linux"), Policy: policy.AllowAll{}, Tools: &tool.Registry{}, Store: g.store,
	}
	err := c.Tools.Register(sched.tools()...)
	if err == nil && g.session == nil {
		g.session, err = agent.New(c)
	} else if err == nil {
		g.session, err = agent.Resume(g.Context(), c)
	}
	if err == nil {
		err = sched.load(g.Context(), g.session)
	}
	if err != nil {
		g.Fatal(err)
	}
	ctx, cancel := context.WithCancel(g.Context())
	inbox := NewInbox(g.session, nil)
	done := make(chan error, 2)
	go func() { done <- inbox.Run(ctx) }()
	go func() { done <- sched.Run(ctx, g.session, inbox.Deliver) }()
	g.stop = func() {
		cancel()
		for range 2 {
			if err := <-done; !errors.Is(err, context.Canceled) {
				g.Errorf("stopped with %v", err)
			}
		}
		if err := g.session.Close(); err != nil {
			g.Error(err)
		}
	}
}

func (g *clockRig) do(calls ...string) string {
	g.Helper()
	out, err := g.session.Submit(g.Context(), llm.Text{Text: strings.Join(calls, "\n")})
	if err != nil {
		g.Fatal(err)
	}
	return out.Text
}

// heard returns what the schedule has said to the agent.
func (g *clockRig) heard() (all []string) {
	for _, m := range g.session.Messages() {
		if m.Role == llm.RoleUser && strings.HasPrefix(m.Text(), "[Scheduled") {
			all = append(all, m.Text())
		}
	}
	return all
}

func TestSchedule_RunsJobsReportsMissedOnesAndSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &clockRig{T: t, store: &event.Memory{}}
		g.start()
		text := g.do(`cron_create {"schedule":"0 * * * *","prompt":"check the build","name":"hourly"}`, `cron_create {"schedule":"30 1 * * *","prompt":"once","once":true}`,
			`cron_create {"schedule":"0 0 2 1 *","prompt":"delete me"}`, `cron_create {"schedule":"0 0 1 3 *","prompt":"in two months"}`, `cron_delete {"id":"3"}`, `cron_create {"schedule":"61 * * * *","prompt":"x"}`, `cron_list {}`)
		for _, want := range []string{"Job 1 (hourly) is due at Sat, 01 Jan 2000 01:00:00", "Job 3 was deleted", "No job was created: the minute", `No job was created: the schedule "0 0 1 3 *" is not due in the next 30 days`, "2: 30 1 * * *, next Sat, 01 Jan 2000 01:30:00"} {
			if !strings.Contains(text, want) {
				t.Errorf("got %q, want %q in it", text, want)
			}
		}
		time.Sleep(2*time.Hour + time.Minute)
		synctest.Wait()
		heard := g.heard()
		if got := fmt.Sprint(len(heard)); got != "3" || !strings.Contains(heard[0], "job 1 (hourly), due at 2000-01-01T01:00:00Z. This message is from the schedule, not from the user.]\ncheck the build") || !strings.Contains(heard[1], "once") {
			t.Errorf("heard %q, want the jobs of 1:00, 1:30 and 2:00", heard)
		}
		g.stop()
		time.Sleep(3 * time.Hour) // nobody runs at 3:00, 4:00 and 5:00
		for range 2 {
			g.start()
			synctest.Wait()
			heard = g.heard()
			if len(heard) != 4 || !strings.Contains(heard[3], "due 3 times, last at 2000-01-01T05:00:00Z: check the build") {
				t.Errorf("after a restart, heard %q, want one report about three times", heard)
			}
			g.stop()
		}
		g.start()
		time.Sleep(time.Hour)
		synctest.Wait()
		if heard := g.heard(); len(heard) != 5 || !strings.Contains(heard[4], "due at 2000-01-01T06:00:00Z") {
			t.Errorf("heard %q, want the job of 6:00", heard)
		}
		if text := g.do(`cron_delete {"id":"1"}`, `cron_list {}`); !strings.Contains(text, "no scheduled jobs") {
			t.Errorf("got %q", text)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if n := len(g.heard()); n != 5 {
			t.Errorf("a deleted job ran: %d messages, want 5", n)
		}
		g.stop()
	})
}

func TestSchedule_ResumedSessionHasItsJobs(t *testing.T) {
	g := newOpenRig(t)
	g.model.Reply = func(_ int, r *llm.Request) llmtest.Turn { return nextCall(r) }
	resume := ""
	for _, c := range [][2]string{{`cron_create {"schedule":"0 * * * *","prompt":"check the build"}`, "Job 1 is due"}, {`cron_list {}`, "1: 0 * * * *"}} {
		s := g.open(coding.Config{Model: "m", Resume: resume, Extensions: with((&Schedule{}).Attach), Session: agent.Config{Policy: policy.AllowAll{}}})
		out, err := s.Submit(t.Context(), llm.Text{Text: c[0]})
		if err != nil || !strings.Contains(out.Text, c[1]) {
			t.Errorf("%s: got %q, %v", c[0], out.Text, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		resume = s.ID()
	}
}
