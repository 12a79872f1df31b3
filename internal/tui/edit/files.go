package edit

import (
	"context"
	"strings"
	"sync"
	"time"
)

const (
	// patience is how long a key waits for the files, so that most appear with it.
	patience = 5 * time.Millisecond
	// staleAfter is the age at which the files for a text are searched again, when they are used.
	staleAfter = time.Second
	// moreAfter is the pause before files that were still being listed are searched again.
	moreAfter = 500 * time.Millisecond
)

// Listed are the files for a text.
type Listed struct {
	Paths []string // the best first; directories end with a slash
	Note  string   // what they lack, or ""
	More  bool     // some are still being listed
}

// Search finds files by a part of their path. It must leave out ignored files.
type Search func(ctx context.Context, query string, limit int) (Listed, error)

// Files finds project files in the background, only when they are asked for: never because the agent works.
type Files struct {
	search  func() Search
	changed func()

	mu     sync.Mutex
	last   *searching // nil before the first
	listed Listed     // what was found last
	done   sync.WaitGroup
	closed bool
}

// searching is a search for a text.
type searching struct {
	query string
	stop  context.CancelFunc
	found chan struct{} // closed when there is a result
	at    time.Time     // of the result
	late  bool          // the key did not wait for the result
}

// NewFiles returns a finder. search returns the search of now; it runs in the goroutine that calls Find. changed, if not
// nil, is called in another goroutine when there are other files for the last text.
func NewFiles(search func() Search, changed func()) *Files {
	return &Files{search: search, changed: changed}
}

// Close stops a search and waits for its end.
func (f *Files) Close() {
	f.mu.Lock()
	f.closed = true
	if f.last != nil {
		f.last.stop()
	}
	f.mu.Unlock()
	f.done.Wait()
}

// Find implements [Finder]. If the search takes longer than a moment, it returns what is known.
func (f *Files) Find(query string, limit int) (list []Found, note string) {
	s := f.begin(query, limit)
	if s != nil {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case <-s.found:
		case <-timer.C:
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if s != nil && s.at.IsZero() {
		s.late = true
	}
	return f.listed.matching(query), f.listed.Note
}

// begin returns the search for a text. It starts one if there is none, or if its result is old.
func (f *Files) begin(query string, limit int) *searching {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.last; f.closed || s != nil && s.query == query && (s.at.IsZero() || time.Since(s.at) < staleAfter) {
		return s
	}
	if f.last != nil {
		f.last.stop()
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &searching{query: query, stop: stop, found: make(chan struct{})}
	f.last = s
	search := f.search()
	f.done.Go(func() {
		defer stop()
		for f.run(ctx, s, search, limit) {
			select {
			case <-time.After(moreAfter):
			case <-ctx.Done():
			}
		}
	})
	return s
}

// run searches once, and reports whether to search again.
func (f *Files) run(ctx context.Context, s *searching, search Search, limit int) bool {
	listed, err := search(ctx, s.query, limit)
	f.mu.Lock()
	first := s.at.IsZero()
	s.at = time.Now() // after an error, too: it is not tried again with each key
	if first {
		close(s.found)
	}
	if ctx.Err() != nil {
		f.mu.Unlock()
		return false
	}
	if err == nil {
		f.listed = listed
	}
	late := s.late || !first
	f.mu.Unlock()
	if late && f.changed != nil {
		f.changed()
	}
	return err == nil && listed.More
}

// matching returns the files that match a text, which may be longer than the text that was searched for.
func (l Listed) matching(query string) []Found {
	query = strings.ToLower(strings.TrimPrefix(query, "./"))
	var list []Found
	for _, p := range l.Paths {
		low := strings.ToLower(p)
		if hasLetters(low, query) {
			list = append(list, Found{p, !strings.Contains(low, query)})
		}
	}
	return list
}

// hasLetters reports whether a text has a query's characters in order.
func hasLetters(s, query string) bool {
	for _, c := range query {
		at := strings.IndexRune(s, c)
		if at < 0 {
			return false
		}
		s = s[at+1:]
	}
	return true
}
