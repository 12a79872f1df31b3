package search

import (
	"bytes"
	"context"
)

// bufferSize is large enough for most source files.
const bufferSize = 256 << 10

// worker reads and matches files. It reuses its buffers.
type worker struct {
	*search
	match  matcher
	render renderer
	buf    []byte
}

func newWorker(s *search) *worker {
	return &worker{
		search: s,
		match:  matcher{pattern: s.pattern, stop: &s.stop, spans: s.q.Spans},
		render: renderer{before: s.q.Before, after: s.q.After, maxLine: s.q.MaxLine},
		buf:    make([]byte, 0, bufferSize),
	}
}

func (w *worker) chunk(ctx context.Context, c *chunk) {
	for _, it := range c.items {
		if w.stop.Load() {
			c.broken = true
			return
		}
		text, ok := w.load(ctx, it, &c.counts)
		var hits []hit
		if ok {
			hits = w.match.find(text, w.matchLimit())
		}
		// A search that was stopped may be incomplete.
		if ctx.Err() != nil || w.stop.Load() {
			c.broken = true
			return
		}
		if len(hits) > 0 {
			c.results = append(c.results, w.result(it, text, hits))
		}
	}
}

// load returns a file's text, or false if the file is skipped.
func (w *worker) load(ctx context.Context, it item, counts *Summary) (text []byte, ok bool) {
	data, err := w.read(ctx, it)
	if cap(data) > cap(w.buf) {
		w.buf = data[:0]
	}
	switch {
	case err == errTooBig:
		counts.TooBig++
		return nil, false
	case err == errBinary:
		counts.Searched++
		counts.Binary++
		return nil, false
	case isMissing(err) || ctx.Err() != nil:
		return nil, false
	case err != nil:
		counts.Failed++
		return nil, false
	}
	counts.Searched++
	text, ok = decode(data)
	if !ok {
		counts.Binary++
	}
	return text, ok
}

func (w *worker) read(ctx context.Context, it item) ([]byte, error) {
	if it.node == nil {
		return w.layer.readFile(ctx, w.root, w.buf, w.q.MaxFileSize)
	}
	return it.node.dir.read(ctx, it.name, w.buf, w.q.MaxFileSize)
}

// matchLimit returns the maximum number of matches to find in a file. In Content mode it is one more
// than the head limit, to detect that there are more.
func (w *worker) matchLimit() int {
	limit := w.q.MaxPerFile
	switch {
	case w.q.Mode == Files:
		limit = 1
	case w.q.Mode == Content && w.q.HeadLimit > 0 && (limit <= 0 || limit > w.q.HeadLimit):
		limit = w.q.HeadLimit + 1
	}
	return limit
}

func (w *worker) result(it item, text []byte, hits []hit) result {
	m := result{FileMatch: FileMatch{Path: w.path(it)}}
	cuttable := w.q.Multiline && w.q.HeadLimit > 0
	lines := 0
	for _, h := range hits {
		m.Matches += h.matches
		if cuttable {
			lines += bytes.Count(text[h.start:h.end], lineFeed) + 1
			m.marks = append(m.marks, mark{m.Matches, lines})
		}
	}
	if w.q.Mode == Content {
		m.Lines = w.render.lines(text, hits)
	}
	return m
}
