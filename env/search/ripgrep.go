package search

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// ripgrepFiles is how many files one rg process is given, and ripgrepBytes how much text.
const (
	ripgrepFiles = 1024
	ripgrepBytes = 16 << 20
)

// ripgrep is the second engine. It only matches: which files are searched, how they are decoded
// and what is reported of them is decided here as for the first, so the engines cannot disagree.
// The texts are given to rg as files of a private temporary directory, which makes it work for
// every environment, and safe against files that change or move meanwhile.
type ripgrep struct {
	program string
	args    []string
	mu      sync.Mutex
	err     error
}

// newRipgrep prepares the engine. The pattern p is nil if RE2 refused it with the error refused;
// then it is taken in Perl's syntax.
func newRipgrep(ctx context.Context, q *GrepQuery, p *pattern, refused error) (*ripgrep, error) {
	program, err := exec.LookPath("rg")
	if err != nil {
		if refused != nil {
			return nil, refused
		}
		return nil, fmt.Errorf("the ripgrep engine was asked for, but no rg program is on PATH: %w", err)
	}
	r := &ripgrep{program: program}
	r.args = []string{"--no-config", "--json", "--text", "--encoding=none", "--no-ignore", "--hidden", "--no-messages"}
	if q.Multiline {
		r.args = append(r.args, "--multiline", "--multiline-dotall")
	}
	if p != nil {
		r.args = append(r.args, "--case-sensitive", "--regexp="+rustRegex(p.tree))
	} else {
		fold := "--case-sensitive"
		if q.IgnoreCase {
			fold = "--ignore-case"
		}
		r.args = append(r.args, fold, "--pcre2", "--regexp="+q.Pattern)
	}
	if problem := r.check(ctx); problem != "" {
		if pe := (*PatternError)(nil); errors.As(refused, &pe) {
			pe.Hint = "RE2 refuses it, and so does ripgrep: " + problem
			return nil, pe
		}
		return nil, &PatternError{Kind: "regular expression", Pattern: q.Pattern, Pos: -1, Problem: "ripgrep refuses it: " + problem}
	}
	return r, nil
}

// check tries the pattern on nothing, and gives rg's complaint about it.
func (r *ripgrep) check(ctx context.Context) string {
	cmd := r.command(ctx, "-")
	cmd.Stdin = strings.NewReader("")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err == nil || ctx.Err() != nil || errors.As(err, &exit) && exit.ExitCode() == 1 {
		return ""
	}
	if text := strings.Join(strings.Fields(stderr.String()), " "); text != "" {
		return text
	}
	return err.Error()
}

func (r *ripgrep) command(ctx context.Context, operands ...string) *exec.Cmd {
	args := append(append([]string(nil), r.args...), "--")
	cmd := exec.CommandContext(ctx, r.program, append(args, operands...)...)
	cmd.WaitDelay = time.Second
	return cmd
}

// failure is the first error of a run, if any.
func (r *ripgrep) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

func (r *ripgrep) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = fmt.Errorf("ripgrep failed: %w", err)
	}
}

// run matches the files of dir, which are named by numbers, and calls found for every match.
func (r *ripgrep) run(ctx context.Context, dir string, found func(file int, m rgMatch)) error {
	cmd := r.command(ctx, "./")
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	parseErr := parseRipgrep(out, found)
	if parseErr != nil {
		cmd.Process.Kill() // or it could wait for us to read on
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	switch {
	case parseErr != nil:
		return parseErr
	case err == nil || errors.As(err, &exit) && exit.ExitCode() == 1:
		return nil
	}
	return fmt.Errorf("%w: %s", err, bytes.TrimSpace(stderr.Bytes()))
}

// rgMatch is a "match" event of rg --json.
type rgMatch struct {
	Path struct {
		Text string `json:"text"`
	} `json:"path"`
	Offset     int `json:"absolute_offset"`
	Submatches []struct {
		Start int `json:"start"`
		End   int `json:"end"`
	} `json:"submatches"`
}

func parseRipgrep(r io.Reader, found func(file int, m rgMatch)) error {
	in := bufio.NewReaderSize(r, 64<<10)
	dec := json.NewDecoder(in)
	for {
		var event struct {
			Type string  `json:"type"`
			Data rgMatch `json:"data"`
		}
		err := dec.Decode(&event)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading its output: %w", err)
		}
		if event.Type != "match" {
			continue
		}
		file, err := strconv.Atoi(filepath.Base(event.Data.Path.Text))
		if err != nil {
			return fmt.Errorf("it names an unknown file %q", event.Data.Path.Text)
		}
		found(file, event.Data)
	}
}

// ripgrepChunk searches all files of a chunk with rg, in as many runs as their size needs.
func (w *worker) ripgrepChunk(ctx context.Context, c *chunk) {
	results := make([]*result, len(c.items))
	for next := 0; next < len(c.items) && !w.stop.Load(); {
		n, err := w.ripgrepRun(ctx, c, next, results)
		if err != nil {
			if ctx.Err() == nil {
				w.rg.fail(err)
				w.stop.Store(true)
			}
			break
		}
		next = n
	}
	c.broken = w.stop.Load()
	if c.broken {
		return
	}
	for _, r := range results {
		if r != nil {
			c.results = append(c.results, *r)
		}
	}
}

// ripgrepRun gives the files from c.items[first] on to one rg process, and says where to go on.
func (w *worker) ripgrepRun(ctx context.Context, c *chunk, first int, results []*result) (next int, err error) {
	dir, err := os.MkdirTemp("", "search-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	size, given := 0, false
	for next = first; next < len(c.items) && size < ripgrepBytes && !w.stop.Load(); next++ {
		text, ok := w.load(ctx, c.items[next], &c.counts)
		if !ok {
			continue
		}
		// RE2's way with bytes that are not UTF-8 is its own.
		if w.pattern != nil && !utf8.Valid(text) {
			if hits := w.match.find(text, w.matchLimit()); len(hits) > 0 {
				r := w.result(c.items[next], text, hits)
				results[next] = &r
			}
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(next)), text, 0o600); err != nil {
			return 0, err
		}
		size += len(text)
		given = true
	}
	if !given {
		return next, nil
	}
	return next, w.ripgrepResults(ctx, c, dir, results)
}

// ripgrepResults runs rg on dir and makes results of what it finds.
func (w *worker) ripgrepResults(ctx context.Context, c *chunk, dir string, results []*result) error {
	matches := map[int][]rgMatch{}
	limit := w.matchLimit()
	err := w.rg.run(ctx, dir, func(file int, m rgMatch) {
		if limit <= 0 || len(matches[file]) < limit {
			matches[file] = append(matches[file], m)
		}
	})
	if err != nil {
		return err
	}
	for file, found := range matches {
		text, err := os.ReadFile(filepath.Join(dir, strconv.Itoa(file)))
		if err != nil {
			return err
		}
		if hits := w.ripgrepHits(text, found, limit); len(hits) > 0 {
			r := w.result(c.items[file], text, hits)
			results[file] = &r
		}
	}
	return nil
}

// ripgrepHits restates rg's matches as the Go engine would have found them.
func (w *worker) ripgrepHits(text []byte, found []rgMatch, limit int) []hit {
	w.match.hits = w.match.hits[:0]
	total := 0
	for _, m := range found {
		if m.Offset >= len(text) {
			continue
		}
		if !w.q.Multiline {
			h := hit{start: m.Offset, end: lineEnd(text, m.Offset), matches: 1}
			for _, s := range m.Submatches {
				h.spans = append(h.spans, Span{m.Offset + s.Start, m.Offset + s.End})
			}
			if !w.q.Spans {
				h.spans = nil
			}
			w.match.hits = append(w.match.hits, h)
			continue
		}
		for _, s := range m.Submatches {
			span := Span{m.Offset + s.Start, m.Offset + s.End}
			if total++; limit > 0 && total > limit || span.End > len(text) {
				return w.match.hits
			}
			w.match.addSpan(text, span)
		}
	}
	return w.match.hits
}
