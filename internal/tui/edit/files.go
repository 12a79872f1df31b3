package edit

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// staleAfter is the age at which an index is built again, when it is used.
const staleAfter = 30 * time.Second

// Files finds project files in an index in memory. The index is built in the background at its first use, and again when it
// is used and older than 30 seconds: never because the agent works.
type Files struct {
	list    func(ctx context.Context) ([]string, error)
	changed func()

	mu     sync.Mutex
	index  *index
	built  time.Time
	stop   context.CancelFunc // ends a build in progress
	done   sync.WaitGroup
	closed bool
}

// NewFiles indexes the paths that list returns, relative to the project and with slashes. list must leave out
// ignored files. changed, if not nil, is called in another goroutine when there is a new index.
func NewFiles(list func(ctx context.Context) ([]string, error), changed func()) *Files {
	return &Files{list: list, changed: changed}
}

// Close stops a build in progress and waits for its end.
func (f *Files) Close() {
	f.mu.Lock()
	f.closed = true
	if f.stop != nil {
		f.stop()
	}
	f.mu.Unlock()
	f.done.Wait()
}

// Find implements [Finder]. It returns nothing until the first index is built.
func (f *Files) Find(query string, limit int) []Found {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stop == nil && !f.closed && (f.index == nil || time.Since(f.built) > staleAfter) {
		ctx, stop := context.WithCancel(context.Background())
		f.stop = stop
		f.done.Go(func() { f.build(ctx) })
	}
	if f.index == nil {
		return nil
	}
	return f.index.find(query, limit)
}

func (f *Files) build(ctx context.Context) {
	paths, err := f.list(ctx)
	var x *index
	if err == nil {
		x = newIndex(paths)
	}
	f.mu.Lock()
	f.stop()
	f.stop = nil
	f.built = time.Now() // after an error, too: it is not tried again with each key
	if x != nil {
		f.index = x
	} else if f.index == nil {
		f.index = newIndex(nil)
	}
	closed := f.closed
	f.mu.Unlock()
	if f.changed != nil && !closed {
		f.changed()
	}
}

// index is a list of paths in one block of memory.
type index struct {
	text   []byte   // the paths, each with a line break
	ends   []uint32 // where each path ends
	bases  []uint16 // last elements' lengths
	masks  []uint64 // which characters a path has
	narrow struct { // the paths that match a query, which may match a longer one
		query string
		paths []uint32
	}
}

// newIndex indexes paths and their directories. It leaves out paths with line breaks.
func newIndex(paths []string) *index {
	size := 0
	for _, p := range paths {
		size += len(p) + 1
	}
	x := &index{
		text:  make([]byte, 0, size+size/8),
		ends:  make([]uint32, 0, len(paths)),
		bases: make([]uint16, 0, len(paths)),
		masks: make([]uint64, 0, len(paths)),
	}
	seen := map[string]bool{".": true, "/": true, "": true}
	var add func(p string)
	add = func(p string) {
		if strings.Contains(p, "\n") || len(p) > 1<<16-1 || len(x.text) > 1<<31 {
			return
		}
		if dir := path.Dir(strings.TrimSuffix(p, "/")); !seen[dir] {
			seen[dir] = true
			add(dir + "/")
		}
		x.ends = append(x.ends, uint32(len(x.text)+len(p)))
		x.text = append(append(x.text, p...), '\n')
		x.bases = append(x.bases, uint16(len(base(p))))
		low := appendLower(nil, p)
		m := mask(low)
		if string(low) != p {
			m |= capital
		}
		x.masks = append(x.masks, m)
	}
	for _, p := range paths {
		add(p)
	}
	return x
}

// base returns a path's last element, with a directory's slash.
func base(p string) string {
	return p[strings.LastIndexByte(strings.TrimSuffix(p, "/"), '/')+1:]
}

// appendLower appends a text in lower case. It changes ASCII letters only, so that positions stay.
func appendLower[S string | []byte](b []byte, s S) []byte {
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	return b
}

// capital marks paths with capitals in their masks, where no path character is.
const capital = 1 << ('\n' & 63)

// mask returns a text's set of lower-case characters.
func mask(s []byte) (m uint64) {
	for _, c := range s {
		m |= 1 << (c & 63)
	}
	return m &^ capital
}

// Ranks of matches, from the best.
const (
	rankBase    = iota // the last element
	rankPrefix         // it begins with the query
	rankPart           // a part of it, after a separator or a capital
	rankInside         // a part of it
	rankPath           // a path part
	rankLetters        // the last element has the letters in order
	rankAcross         // the path has the letters in order
)

// candidate is a path that matches: its rank, length and place in the index. The least is the best.
type candidate uint64

func newCandidate(rank, length, at int) candidate {
	return candidate(rank)<<56 | candidate(length)<<32 | candidate(at)
}

func (c candidate) rank() int { return int(c >> 56) }

// find returns the best matches.
func (x *index) find(query string, limit int) []Found {
	q := appendLower(nil, strings.TrimPrefix(query, "./"))
	s := &matching{x: x, q: q, need: mask(q), limit: limit}
	if last := x.narrow; last.query != "" && strings.HasPrefix(string(q), last.query) {
		for _, i := range last.paths {
			s.try(int(i))
		}
	} else {
		for i := range x.ends {
			s.try(i)
		}
	}
	x.narrow.query, x.narrow.paths = string(q), s.matched
	out := make([]Found, len(s.best))
	for i, c := range s.best {
		out[i] = Found{string(x.path(int(c & (1<<32 - 1)))), c.rank() >= rankLetters}
	}
	return out
}

// matching finds a query's best matches.
type matching struct {
	x       *index
	q       []byte
	need    uint64
	limit   int
	low     []byte // room for a path in lower case
	best    []candidate
	matched []uint32
}

// try adds a path if it matches.
func (m *matching) try(i int) {
	if m.x.masks[i]&m.need != m.need {
		return
	}
	p := m.x.path(i)
	low := p
	if m.x.masks[i]&capital != 0 {
		m.low = appendLower(m.low[:0], p)
		low = m.low
	}
	if !hasLetters(low, m.q) {
		return
	}
	m.matched = append(m.matched, uint32(i))
	full := len(m.best) == m.limit
	worst := rankAcross
	if full {
		worst = m.best[m.limit-1].rank()
	}
	c := newCandidate(rankOf(p, low, int(m.x.bases[i]), m.q, worst), len(p), i)
	if full && c >= m.best[m.limit-1] {
		return
	}
	at, _ := slices.BinarySearch(m.best, c)
	m.best = slices.Insert(m.best, at, c)
	m.best = m.best[:min(len(m.best), m.limit)]
}

func (x *index) path(i int) []byte {
	from := uint32(0)
	if i > 0 {
		from = x.ends[i-1] + 1
	}
	return x.text[from:x.ends[i]]
}

// rankOf ranks a path that has a query's letters. The path is also given in lower case. Ranks after worst are not
// told from each other.
func rankOf(p, low []byte, size int, q []byte, worst int) int {
	if len(q) == 0 {
		return min(bytes.Count(bytes.TrimSuffix(p, []byte("/")), []byte("/")), rankAcross)
	}
	name := low[len(low)-size:]
	switch at := bytes.Index(name, q); {
	case at == 0 && len(name) == len(q):
		return rankBase
	case at == 0:
		return rankPrefix
	case at > 0 && startsPart(p[len(p)-size:], at):
		return rankPart
	case at > 0:
		return rankInside
	case worst < rankPath:
	case bytes.Contains(low, q):
		return rankPath
	case worst < rankLetters:
	case hasLetters(name, q):
		return rankLetters
	}
	return rankAcross
}

// startsPart reports whether a name part starts at a position.
func startsPart(name []byte, at int) bool {
	c, before := name[at], name[at-1]
	return strings.IndexByte("_-. ", before) >= 0 || 'A' <= c && c <= 'Z' && !('A' <= before && before <= 'Z')
}

// hasLetters reports whether a text has a query's characters in order.
func hasLetters(s, q []byte) bool {
	for _, c := range q {
		at := bytes.IndexByte(s, c)
		if at < 0 {
			return false
		}
		s = s[at+1:]
	}
	return true
}
