package agent

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
)

// check compares the session with its records.
func (l *lives) check(what string) {
	quieten(l.Session)
	if err := l.log.Sync(); err != nil {
		l.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, n := range l.ran {
		if n > 1 {
			l.faults = append(l.faults, fmt.Sprintf("the call %s ran %d times", id, n))
		}
	}
	records := l.saved()
	l.checkCaches(records)
	l.checkMessages(records)
	l.checkFold(records)
	if len(l.faults) > 0 {
		l.Fatalf("after %s: %s\n%s", what, strings.Join(l.faults, "\n"), kindsOf(records))
	}
}

// checkCaches checks that a request that does not continue the previous request is announced.
func (l *lives) checkCaches(records []event.Record) {
	announced, seen := map[string]string{}, map[string]int{}
	for _, r := range records {
		switch d := r.Data.(type) {
		case event.CacheBroken:
			announced[r.Agent] = d.Reason
		case event.SessionResume:
			clear(announced) // announcements for requests that were never made
		case event.ModelCallStart:
			if d.Purpose != "" {
				continue
			}
			n, requests := seen[r.Agent], l.requests[r.Agent]
			if broken := n > 0 && !continues(requests[n-1], requests[n]); broken != (announced[r.Agent] != "") {
				l.faults = append(l.faults, fmt.Sprintf("record %d, call %d of %q: broken %v, announced %q\n%s---\n%s", r.Seq, d.Call, r.Agent, broken, announced[r.Agent],
					sketch(requests[max(n-1, 0)].Messages), sketch(requests[n].Messages)))
			}
			seen[r.Agent]++
			announced[r.Agent] = ""
		}
	}
}

func messagesJSON(messages []llm.Message) string {
	b, err := json.Marshal(messages)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// continues reports whether a provider that has cached one request has cached the beginning of the other.
func continues(a, b *llm.Request) bool {
	return a.Provider == b.Provider && a.Model == b.Model && a.Effort == b.Effort && reflect.DeepEqual(a.ThinkingBudget, b.ThinkingBudget) &&
		digest(a.Tools) == digest(b.Tools) && (a.Output == nil) == (b.Output == nil) &&
		len(a.Messages) <= len(b.Messages) && messagesJSON(a.Messages) == messagesJSON(b.Messages[:len(a.Messages)])
}

// checkMessages checks that every message that the host was told is safe entered the conversation once, or waits.
func (l *lives) checkMessages(records []event.Record) {
	place := map[string]int{}
	for _, r := range records {
		switch d := r.Data.(type) {
		case event.SteeringQueued:
			place[r.Agent+d.Message.Text()]--
		case event.SteeringInjected:
			if d.Source == event.SourceHost {
				place[r.Agent+d.Message.Text()]++
			}
		case event.UserInput:
			if d.FollowUp {
				place[r.Agent+d.Message.Text()]++
			}
		}
	}
	for _, s := range append(l.all(), l.Session) {
		if s.State() == Closed {
			for _, msg := range undelivered(records, s.path) {
				place[s.path+msg.Text()]++
			}
			continue
		}
		for _, q := range s.Queue() {
			place[s.path+q.Message.Text()]++
		}
	}
	for msg, n := range place {
		if n != 0 {
			l.faults = append(l.faults, fmt.Sprintf("%q: given and found a place differ by %d", msg, n))
		}
	}
}

// undelivered returns the undelivered messages recorded at an agent's end.
func undelivered(records []event.Record, agent string) (messages []llm.Message) {
	for _, r := range records {
		if d, ok := r.Data.(event.SessionEnd); ok && r.Agent == agent {
			messages = d.Undelivered
		}
	}
	return messages
}

// checkFold compares every agent's state with the state that a new process would compute from the records, and the
// totals with sums over the records.
func (l *lives) checkFold(records []event.Record) {
	if l.log.(*event.Journal).Held() {
		return // nothing is recorded yet
	}
	tr := step.NewTree()
	for _, r := range records {
		tr.Apply(r)
	}
	exported := cmp.Exporter(func(reflect.Type) bool { return true })
	ignored := cmp.FilterPath(func(p cmp.Path) bool { return strings.HasSuffix(p.String(), "tree") || p.Last().String() == ".tree" }, cmp.Ignore())
	for _, s := range append(l.all(), l.Session) {
		if diff := cmp.Diff(s.state, tr.Agent(s.path), exported, ignored, cmpopts.EquateEmpty()); diff != "" {
			l.faults = append(l.faults, fmt.Sprintf("agent %q is (-) and its records tell (+): %s", s.path, diff))
		}
	}
	var sum llm.Usage
	for _, r := range records {
		switch d := r.Data.(type) {
		case event.ModelCallEnd:
			sum = sum.Add(d.Usage).Add(d.Retried)
		case event.Compaction:
			if d.After >= d.Before {
				l.faults = append(l.faults, fmt.Sprintf("record %d: %d tokens became %d", r.Seq, d.Before, d.After))
			}
		}
	}
	if live := l.Total().Usage; sum.Input != live.Input || sum.Output != live.Output {
		l.faults = append(l.faults, fmt.Sprintf("the total is %+v and the calls add up to %+v", live, sum))
	}
}

// all returns all subagents, at any depth.
func (l *lives) all() []*Session { return l.below() }

// quieten interrupts working subagents, except those that are held.
func quieten(s *Session) {
	s.each(func(c *Session) {
		s.tree.mu.Lock()
		held := c.held()
		s.tree.mu.Unlock()
		if !held {
			c.Interrupt()
		}
		quieten(c)
	})
}
