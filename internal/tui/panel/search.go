package panel

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/tui/dialog"
	"github.com/reins-agent/reins/session"
)

// Search limits, and how often new hits are shown.
const (
	maxHits       = 500
	hitsInSession = 3
	hitsEvery     = 50 * time.Millisecond
)

// search finds a text in all sessions while the user writes it.
type search struct {
	list   *dialog.List // the session list, to which esc returns
	query  string
	cancel context.CancelFunc
	hits   []event.Hit
	broken int // how many sessions could not be read
	done   bool
}

func (s *search) status() string {
	status := show.Plural(len(s.hits), "hit")
	switch {
	case s.query == "":
		return "search the texts of all sessions"
	case !s.done:
		status += ", searching…"
	case len(s.hits) >= maxHits:
		status = fmt.Sprintf("the first %s", status)
	}
	if s.broken > 0 {
		status += fmt.Sprintf(", %s not readable", show.Plural(s.broken, "session"))
	}
	return status
}

// startSearch searches for another text. The search before it ends.
func (p *sessions) startSearch(query string) {
	s := p.find
	if s.cancel != nil {
		s.cancel()
	}
	s.query, s.hits, s.broken, s.done = strings.TrimSpace(query), nil, 0, false
	p.rows()
	if utf8.RuneCountInString(s.query) < 2 {
		s.query, s.done = "", true
		return
	}
	ctx, cancel := context.WithCancel(p.ctx)
	s.cancel = cancel
	go p.search(ctx, s.query)
}

// endSearch returns to the list.
func (p *sessions) endSearch() {
	if p.find.cancel != nil {
		p.find.cancel()
	}
	p.list, p.find = p.find.list, nil
	p.rows()
}

// search searches in the background.
func (p *sessions) search(ctx context.Context, query string) {
	var hits []event.Hit
	broken := 0
	post := func(done bool) {
		found, unread := hits, broken
		hits, broken = nil, 0
		p.o.Post(func() Outcome {
			if ctx.Err() != nil || p.find == nil {
				return Outcome{}
			}
			p.find.hits = append(p.find.hits, found...)
			p.find.broken += unread
			p.find.done = done
			p.rows()
			return handled
		})
	}
	last := time.Now()
	for hit, err := range p.o.Sessions.Search(ctx, session.SearchOptions{Text: query, Hits: maxHits, PerSession: hitsInSession}) {
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			broken++
			continue
		}
		if hits = append(hits, hit); time.Since(last) > hitsEvery {
			post(false)
			last = time.Now()
		}
	}
	post(true)
}

// rows fills the list with the hits.
func (s *search) rows(p *sessions) {
	rows := make([]dialog.Row, len(s.hits))
	p.shown = p.shown[:0]
	for i, h := range s.hits {
		rows[i] = dialog.Row{
			Label:  show.OneLine(h.Text),
			Detail: h.Where + " · " + show.Ago(p.o.Now().Sub(h.Session.Updated), h.Session.Updated),
			Find:   s.query,
		}
		if p.wide {
			rows[i].Detail = show.Summary(h.Session.Title+" "+h.Session.Prompt) + " · " + rows[i].Detail
		}
		p.shown = append(p.shown, h.Session.ID)
	}
	p.list.SetRows(rows)
}
