// Package codesearch finds code by words: codebase_search ranks parts of files by how well they match a query.
//
// The index is local and in memory. The first search builds it. Later searches update it, and read only files whose
// size or modification time has changed. Identifiers are split into their parts, and parts of files are ranked with
// BM25. It uses no model and no network. A tree that is too large for the index is searched with grep.
package codesearch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/search"
)

// Limits for an index and a search.
const (
	maxFiles   = 20_000
	maxBytes   = 64 << 20 // all files
	maxFile    = 1 << 20  // larger files are skipped
	maxTime    = 30 * time.Second
	maxTerms   = 16 // query terms
	chunkLines = 40
	maxHits    = 10
	maxPerFile = 2
)

// index holds the words of files. Each call lists its own files, so the index may contain files that a call does not
// search.
type index struct {
	maxFiles int
	maxBytes int64

	turn  chan struct{} // full while a call uses the index
	terms map[string]uint32
	files map[string]*file // by absolute path
	read  int              // number of files read so far, for tests
}

type file struct {
	size   int64
	mod    time.Time
	name   []uint32 // path terms, sorted
	chunks []chunk
}

// chunk is a part of a file. A count is a term's number, shifted left by 8 bits, plus how often it occurs (at most
// 255).
type chunk struct {
	words  int
	counts []uint32 // sorted
}

func newIndex() *index {
	return &index{
		maxFiles: maxFiles,
		maxBytes: maxBytes,
		turn:     make(chan struct{}, 1),

		terms: make(map[string]uint32),
		files: make(map[string]*file),
	}
}

// errTooLarge means that a tree is too large for the index.
var errTooLarge = errors.New("the tree is too large for the index")

// listed is a file to search, with its shown path and its key in the index.
type listed struct {
	search.GlobFile
	key string
}

// list returns the files below directories. It skips large files, hidden files and files excluded by ignore files.
func (x *index) list(ctx context.Context, e env.Environment, dirs []string) ([]listed, error) {
	var files []listed
	var size int64
	seen, info := make(map[string]bool), e.Info()
	for _, dir := range dirs {
		found, err := search.Glob(ctx, e, search.GlobQuery{Pattern: "**/*", Path: dir})
		if err != nil {
			return nil, err
		}
		for _, f := range found.Files {
			key := info.Paths().Abs(info.Dir, f.Path)
			if f.Size > maxFile || seen[key] {
				continue
			}
			seen[key] = true
			size += f.Size
			files = append(files, listed{f, key})
		}
	}
	if len(files) > x.maxFiles || size > x.maxBytes {
		return files, errTooLarge
	}
	return files, nil
}

// update reads files that are new or have changed. If ctx ends, the files read so far remain in the index.
func (x *index) update(ctx context.Context, e env.Environment, files []listed) error {
	for _, f := range files {
		if old, ok := x.files[f.key]; ok && old.size == f.Size && old.mod.Equal(f.ModTime) {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		x.read++
		data, err := env.ReadFile(ctx, e, f.key, maxFile)
		if err != nil || bytes.IndexByte(data[:min(len(data), 8<<10)], 0) >= 0 {
			data = nil // unreadable, too large by now, or binary
		}
		x.files[f.key] = x.parse(f, data)
	}
	x.prune(files)
	return nil
}

// prune removes the files of earlier searches if the index has become too large.
func (x *index) prune(files []listed) {
	if len(x.files) <= x.maxFiles && len(x.terms) < 1<<23 {
		return
	}
	keep := newIndex()
	if len(x.terms) < 1<<23 {
		keep.terms = x.terms
		for _, f := range files {
			keep.files[f.key] = x.files[f.key]
		}
	}
	x.terms, x.files = keep.terms, keep.files
}

// parse returns the words in a file.
func (x *index) parse(f listed, data []byte) *file {
	out := &file{size: f.Size, mod: f.ModTime}
	words([]byte(f.Path), func(w []byte) { out.name = append(out.name, x.id(w)) })
	slices.Sort(out.name)
	counts := make(map[uint32]uint32)
	for len(data) > 0 {
		part := data[:lineEnd(data, chunkLines)]
		data = data[len(part):]
		clear(counts)
		c := chunk{}
		words(part, func(w []byte) {
			c.words++
			counts[x.id(w)]++
		})
		c.counts = make([]uint32, 0, len(counts))
		for id, n := range counts {
			c.counts = append(c.counts, id<<8|min(n, 255))
		}
		slices.Sort(c.counts)
		out.chunks = append(out.chunks, c)
	}
	return out
}

// id returns a term's number.
func (x *index) id(w []byte) uint32 {
	id, ok := x.terms[string(w)]
	if !ok {
		id = uint32(len(x.terms))
		x.terms[string(w)] = id
	}
	return id
}

// lineEnd returns the length of the first n lines.
func lineEnd(data []byte, n int) int {
	at := 0
	for range n {
		i := bytes.IndexByte(data[at:], '\n')
		if i < 0 {
			return len(data)
		}
		at += i + 1
	}
	return at
}

// count returns how often a term occurs.
func (c chunk) count(id uint32) uint32 {
	i, _ := slices.BinarySearch(c.counts, id<<8)
	if i < len(c.counts) && c.counts[i]>>8 == id {
		return c.counts[i] & 255
	}
	return 0
}

// hit is a matching chunk.
type hit struct {
	listed
	first int // its first line, counted from 0
	score float64

	chunk chunk
	tf    [maxTerms]uint32
	named uint32 // bit set for the terms in the path
}

// rank returns the best chunks for a query.
func (x *index) rank(files []listed, query []string) []hit {
	var ids []uint32
	for _, t := range query {
		if id, ok := x.terms[t]; ok {
			ids = append(ids, id)
		}
	}
	var hits []hit
	var df [maxTerms]float64
	chunks, total := 0, 0
	for _, l := range files {
		f := x.files[l.key]
		if f == nil {
			continue // the update was interrupted
		}
		for i, c := range f.chunks {
			chunks++
			total += c.words
			h, found := hit{listed: l, first: i * chunkLines, chunk: c}, false
			for t, id := range ids {
				if h.tf[t] = c.count(id); h.tf[t] > 0 {
					found = true
					df[t]++
				}
				if _, ok := slices.BinarySearch(f.name, id); ok {
					h.named |= 1 << t
				}
			}
			if found || i == 0 && h.named != 0 {
				hits = append(hits, h)
			}
		}
	}
	average := float64(total) / float64(max(chunks, 1))
	for i := range hits {
		hits[i].weigh(df[:len(ids)], chunks, average)
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.Path, b.Path), cmp.Compare(a.first, b.first))
	})
	return best(hits)
}

// weigh computes the score: BM25, plus half the weight of each term that is in the path.
func (h *hit) weigh(df []float64, chunks int, average float64) {
	const k1, b = 1.2, 0.75
	for t := range df {
		idf := math.Log(1 + (float64(chunks)-df[t]+0.5)/(df[t]+0.5))
		tf := float64(h.tf[t])
		h.score += idf * tf * (k1 + 1) / (tf + k1*(1-b+b*float64(h.chunk.words)/max(average, 1)))
		if h.named&(1<<t) != 0 {
			h.score += idf / 2
		}
	}
}

// best returns the first hits, with at most maxPerFile from the same file.
func best(hits []hit) []hit {
	var list []hit
	of := make(map[string]int)
	for _, h := range hits {
		if of[h.key]++; of[h.key] <= maxPerFile {
			list = append(list, h)
		}
		if len(list) == maxHits {
			break
		}
	}
	return list
}
