package session_test

import (
	"errors"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/session"
)

func TestCost_CountsCallsOfForksOnce(t *testing.T) {
	s := newShelf(t)
	s.save(event.Meta{ID: "a", Dir: s.project}, 48*time.Hour, input("1"), spent("small", 100, 0.1), spent("large", 300, 0.5))
	s.save(event.Meta{ID: "b"}, time.Hour, input("1"), event.ModelCallEnd{Provider: "p", Model: "local"})
	_, err := s.Fork(t.Context(), session.ForkOptions{From: "a", ID: "copy"})
	s.must(err)

	const usage = `,"output_tokens":0,"reasoning_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0}`
	const large = `{"provider":"p","model":"large","calls":1,"usage":{"input_tokens":300` + usage + `,"cost":0.5}`
	const small = `{"provider":"p","model":"small","calls":1,"usage":{"input_tokens":100` + usage + `,"cost":0.1}`
	const both = `"calls":2,"usage":{"input_tokens":400` + usage + `,"cost":0.6`
	c, err := s.Cost(t.Context(), session.CostOptions{Sessions: []string{"a", "copy", "A"}})
	s.shows(c, err, `{"sessions":["a","copy"],"models":[`+large+`,`+small+`],`+both+`,"cache_hit":0}`)
	c, err = s.Cost(t.Context(), session.CostOptions{Sessions: []string{"a"}})
	s.shows(c, err, `{"sessions":["a"],"models":[`+large+`,`+small+`],"agents":[{"agent":"",`+both+`}],`+both+`,"cache_hit":0}`)

	c, err = s.Cost(t.Context(), session.CostOptions{})
	if len(c.Sessions) != 3 || c.Calls != 3 || c.Unpriced != 1 || c.Cost != nil || c.Agents != nil || err != nil {
		t.Errorf("of all: %+v, %v", c, err)
	}
	c, err = s.Cost(t.Context(), session.CostOptions{Since: time.Now().Add(-24 * time.Hour)})
	if len(c.Sessions) != 2 || c.Calls != 1 || err != nil { // the fork was used, its calls are old
		t.Errorf("of today: %+v, %v", c, err)
	}
	c, err = s.Cost(t.Context(), session.CostOptions{Filter: session.Filter{Tag: "none"}})
	s.shows(c, err, `{"sessions":[],"models":[],"calls":0,"usage":{"input_tokens":0`+usage+`,"cost":0,"cache_hit":0}`)
	if _, err := s.Cost(t.Context(), session.CostOptions{Sessions: []string{"nothing"}}); !errors.Is(err, event.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestCost_TellsWhatCouldNotBeRead(t *testing.T) {
	s := newShelf(t)
	s.save(event.Meta{ID: "bad"}, time.Hour, input("1"), spent("m", 100, 0.1), spent("m", 200, 0.2))
	s.save(event.Meta{ID: "lost"}, 2*time.Hour, input("1"))
	s.spoil("bad", "log.jsonl", `"input_tokens":100`, `"input_tokens":999`)
	s.lose("lost")
	c, err := s.Cost(t.Context(), session.CostOptions{})
	if err != nil || c.Calls != 1 || len(c.Unread) != 1 || c.Unread[0] != (session.Unread{Session: "bad", Records: 1}) ||
		len(c.Damaged) != 1 || c.Damaged[0].ID != "lost" {
		t.Errorf("got %+v, %v", c, err)
	}
}
