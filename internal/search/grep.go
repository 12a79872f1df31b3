package search

import (
	"context"
	"errors"
	"io/fs"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reins-agent/reins/env"
)

// Files are passed to workers in chunks, which is cheaper than one at a time.
const (
	chunkFiles  = 32
	chunksAhead = 4 // per worker
)

// chunk is a sequence of files in path order.
type chunk struct {
	items   []item
	results []result
	counts  Summary
	broken  bool // the search ended before it was complete
	done    chan struct{}
}

// result is a file's matches. For matches that span lines, marks has the number of matches and lines up to where each
// hit ends, so that the result can be truncated.
type result struct {
	FileMatch
	marks []mark
}

type mark struct{ matches, lines int }

type item struct {
	node *node
	name string
}

// search is a running grep.
type search struct {
	q       GrepQuery
	layer   layer
	root    string // absolute
	display string // prefix of result paths
	pattern *pattern
	walker  *walker
	stop    atomic.Bool
	work    chan *chunk
	order   chan *chunk
	walkErr error
}

func grep(ctx context.Context, l layer, q GrepQuery, yield func(FileMatch) bool) (Summary, error) {
	s, err := newSearch(ctx, l, q)
	if err != nil {
		return Summary{}, err
	}
	inner, cancel := withTimeout(ctx, q.Timeout)
	defer cancel()
	release := context.AfterFunc(inner, func() { s.stop.Store(true) })
	defer release()

	var workers sync.WaitGroup
	workers.Go(func() { s.produce(inner) })
	for range s.workerCount() {
		workers.Go(func() { s.consume(inner) })
	}
	sum := s.deliver(inner, yield)
	s.stop.Store(true)
	cancel()
	for range s.order {
	}
	workers.Wait()

	return s.finish(ctx, sum)
}

// finish completes the summary and determines the error.
func (s *search) finish(ctx context.Context, sum Summary) (Summary, error) {
	if s.walker != nil {
		sum.Failed += int(s.walker.failed.Load())
	}
	if err := ctx.Err(); err != nil {
		sum.partial(Stopped)
		return sum, err
	}
	if s.walkErr != nil && sum.Reason != TimedOut {
		return sum, s.walkErr
	}
	if sum.Failed > 0 {
		sum.partial(Unreadable)
	}
	if sum.TooBig > 0 {
		sum.partial(FilesTooBig)
	}
	return sum, nil
}

func newSearch(ctx context.Context, l layer, q GrepQuery) (*search, error) {
	if q.MaxFileSize == 0 {
		q.MaxFileSize = DefaultMaxFileSize
	}
	p, err := compilePattern(&q)
	if err != nil {
		return nil, err
	}
	s := &search{
		q:       q,
		layer:   l,
		root:    l.abs(q.Path),
		display: display(l.paths(), q.Path),
		pattern: p,
	}
	f, err := newFilter(q.Globs, q.Types, q.Hidden)
	if err != nil {
		return nil, err
	}
	root, err := l.stat(ctx, s.root)
	if err != nil {
		return nil, err
	}
	switch root.kind {
	case dirKind:
		s.walker = &walker{
			layer:    l,
			filter:   f,
			noIgnore: q.NoIgnore,
			hide:     q.Hide,
			root:     s.root,
		}
	case fileKind:
	default:
		return nil, &fs.PathError{Op: "search", Path: q.Path, Err: env.ErrSpecial}
	}
	ahead := chunksAhead * s.workerCount()
	s.work, s.order = make(chan *chunk, ahead), make(chan *chunk, ahead)
	return s, nil
}

// withTimeout is context.WithTimeout, without a timeout if d is zero.
func withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d > 0 {
		return context.WithTimeout(ctx, d)
	}
	return context.WithCancel(ctx)
}

func (s *search) workerCount() int {
	if s.walker == nil {
		return 1
	}
	return runtime.GOMAXPROCS(0)
}

// produce walks the tree and sends each chunk to both channels. order also keeps the walk from running far ahead of the
// results.
func (s *search) produce(ctx context.Context) {
	defer close(s.order)
	defer close(s.work)
	if s.walker == nil {
		s.send(ctx, &chunk{items: []item{{}}})
		return
	}
	c := &chunk{}
	s.walkErr = s.walker.walk(ctx, func(n *node, e *entry) bool {
		n.retain()
		c.items = append(c.items, item{n, e.name})
		if len(c.items) < chunkFiles {
			return true
		}
		full := c
		c = &chunk{items: make([]item, 0, chunkFiles)}
		return s.send(ctx, full)
	})
	if ctx.Err() != nil {
		c.broken = true
	}
	s.send(ctx, c)
}

func (s *search) send(ctx context.Context, c *chunk) bool {
	c.done = make(chan struct{})
	select {
	case s.order <- c:
	case <-ctx.Done():
		c.release()
		return false
	}
	s.work <- c // has space if order has
	return true
}

func (c *chunk) release() {
	for _, it := range c.items {
		if it.node != nil {
			it.node.release()
		}
	}
}

// deliver yields results in order, up to the limit.
func (s *search) deliver(ctx context.Context, yield func(FileMatch) bool) Summary {
	var sum Summary
	for c := range s.order {
		<-c.done
		sum.add(&c.counts)
		for i := range c.results {
			m := &c.results[i]
			more := s.limit(&sum, m)
			if m.Matches == 0 {
				sum.partial(LimitReached)
				return sum
			}
			sum.Files++
			sum.Matches += m.Matches
			if !yield(m.FileMatch) {
				sum.partial(Stopped)
				return sum
			}
			if !more {
				sum.partial(LimitReached)
				return sum
			}
		}
		if c.broken {
			sum.partial(TimedOut)
			return sum
		}
	}
	if ctx.Err() != nil {
		sum.partial(TimedOut)
	}
	return sum
}

func (s *Summary) add(o *Summary) {
	s.Searched += o.Searched
	s.Binary += o.Binary
	s.TooBig += o.TooBig
	s.Failed += o.Failed
}

// limit truncates a result to what HeadLimit still allows, possibly to no matches. It reports whether
// the result is complete.
func (s *search) limit(sum *Summary, m *result) (whole bool) {
	switch {
	case s.q.HeadLimit <= 0:
		return true
	case s.q.Mode != Content:
		if sum.Files < s.q.HeadLimit {
			return true
		}
		m.Matches = 0
		return false
	}
	left := s.q.HeadLimit - sum.Matches
	if m.Matches <= left {
		return true
	}
	m.truncate(left)
	return false
}

// truncate keeps a file's first matches and their context. It keeps all or none of the matches that share lines, but at
// least the first hit.
func (m *result) truncate(matches int) {
	lines := matches
	if m.marks != nil && matches > 0 {
		last := m.marks[0]
		for _, k := range m.marks {
			if k.matches <= matches {
				last = k
			}
		}
		matches, lines = last.matches, last.lines
	}
	m.Matches = matches
	for i, l := range m.Lines {
		if !l.Match {
			continue
		}
		if lines == 0 {
			m.Lines = m.Lines[:i]
			break
		}
		lines--
	}
	for n := len(m.Lines); n > 0 && !m.Lines[n-1].Match; n = len(m.Lines) {
		m.Lines = m.Lines[:n-1]
	}
}

// consume processes chunks in one worker.
func (s *search) consume(ctx context.Context) {
	w := newWorker(s)
	for c := range s.work {
		if s.stop.Load() {
			c.broken = true
		} else {
			w.chunk(ctx, c)
		}
		c.release()
		close(c.done)
	}
}

// path returns an item's path for results.
func (s *search) path(it item) string {
	if it.node == nil {
		return s.display
	}
	return displayPath(s.display, s.root, it.node, it.name)
}

// displayPath returns a file's path for results. display is clean or empty.
func displayPath(display, root string, n *node, name string) string {
	below := n.abs[len(root):] // empty or starts with a slash
	switch {
	case display == "" && below == "":
		return name
	case display == "":
		return below[1:] + "/" + name
	}
	return strings.TrimSuffix(display, "/") + below + "/" + name
}

// display prepares a query's path for displayPath.
func display(paths env.Paths, p string) string {
	if p = paths.ToSlash(paths.Clean(p)); p == "." {
		return ""
	}
	return p
}

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
