// Package fileindex finds files by parts of their paths, in an index that takes about as much memory as the paths.
package fileindex

import (
	"bytes"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Match is a file or a directory, whose path ends with a slash.
type Match struct {
	Path string
	Weak bool // its path has the letters of the query, but not next to each other
}

// Index is a list of paths and of their directories. The zero value is empty. Its methods may be called concurrently.
type Index struct {
	mu    sync.Mutex
	text  []byte          // the paths, each with a line break
	ends  []uint32        // where each path ends
	bases []uint16        // last elements' lengths
	masks []uint64        // which characters a path has
	dirs  map[string]bool // that the index has, while it grows
	files int
	last  struct { // the paths that match a query, which may match a longer one
		query string
		size  int // of the index
		paths []uint32
	}
}

// maxText limits a path's place in the index.
const maxText = 1 << 31

// Grow makes room for as much as another index has.
func (x *Index) Grow(other *Index) {
	other.mu.Lock()
	text, paths := len(other.text), len(other.ends)
	other.mu.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.text = slices.Grow(x.text, text)
	x.ends, x.bases, x.masks = slices.Grow(x.ends, paths), slices.Grow(x.bases, paths), slices.Grow(x.masks, paths)
}

// Add adds a file, by its path relative to the project with slashes, and its directories. It leaves out paths with line
// breaks.
func (x *Index) Add(file string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.dirs == nil {
		x.dirs = map[string]bool{".": true, "/": true, "": true}
	}
	x.files++
	x.add(file)
}

// Finish frees what only Add needs.
func (x *Index) Finish() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.dirs = nil
}

// Files returns how many files were added.
func (x *Index) Files() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.files
}

// add adds a path and its directories; x.mu is held.
func (x *Index) add(p string) {
	if strings.Contains(p, "\n") || len(p) > 1<<16-1 || len(x.text) > maxText {
		return
	}
	if dir := path.Dir(strings.TrimSuffix(p, "/")); !x.dirs[dir] {
		dir = strings.Clone(dir) // not the whole path
		x.dirs[dir] = true
		x.add(dir + "/")
	}
	x.text = append(x.text, p...)
	x.ends = append(x.ends, uint32(len(x.text)))
	x.text = append(x.text, '\n')
	x.bases = append(x.bases, uint16(len(base(p))))
	x.masks = append(x.masks, pathMask(p))
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

// pathMask returns a path's set of lower-case characters, and whether it has capitals.
func pathMask(p string) (m uint64) {
	for i := range len(p) {
		c := p[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
			m |= capital
		}
		m |= 1 << (c & 63) &^ capital
	}
	return m
}

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

// Find returns the paths that match a query best.
func (x *Index) Find(query string, limit int) []Match {
	x.mu.Lock()
	defer x.mu.Unlock()
	q := appendLower(nil, strings.TrimPrefix(query, "./"))
	s := &matching{x: x, q: q, need: mask(q), limit: limit}
	if l := &x.last; l.query != "" && l.size == len(x.ends) && strings.HasPrefix(string(q), l.query) {
		for _, i := range l.paths {
			s.try(int(i))
		}
	} else {
		s.all()
	}
	x.last.query, x.last.size, x.last.paths = string(q), len(x.ends), s.matched
	out := make([]Match, len(s.best))
	for i, c := range s.best {
		out[i] = Match{string(x.path(int(c & (1<<32 - 1)))), c.rank() >= rankLetters}
	}
	return out
}

// matching finds a query's best matches.
type matching struct {
	x       *Index
	q       []byte
	need    uint64
	limit   int
	low     []byte // room for a path in lower case
	best    []candidate
	matched []uint32
}

// all tries all paths, with all processors.
func (m *matching) all() {
	n := len(m.x.ends)
	parts := make([]*matching, max(min(runtime.GOMAXPROCS(0), n/minPart), 1))
	var workers sync.WaitGroup
	for i := range parts {
		part := &matching{x: m.x, q: m.q, need: m.need, limit: m.limit}
		parts[i] = part
		workers.Go(func() {
			for at := i * n / len(parts); at < (i+1)*n/len(parts); at++ {
				part.try(at)
			}
		})
	}
	workers.Wait()
	for _, part := range parts {
		m.best = append(m.best, part.best...)
		m.matched = append(m.matched, part.matched...)
	}
	slices.Sort(m.best)
	m.best = m.best[:min(len(m.best), m.limit)]
}

// minPart is how many paths are worth a goroutine.
const minPart = 20_000

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

func (x *Index) path(i int) []byte {
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
