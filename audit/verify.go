package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

var (
	errNotALine = errors.New("it is not an audit line")
	errChanged  = errors.New("it was changed: its hash does not match")
)

// Files returns the existing files of a log, oldest first.
func Files(path string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, readFailed(err)
	}
	var numbers []int
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), filepath.Base(path))
		n, err := strconv.Atoi(strings.TrimPrefix(rest, "."))
		if ok && (rest == "" || err == nil && n > 0 && rest == "."+strconv.Itoa(n)) {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	files := make([]string, 0, len(numbers))
	for _, n := range slices.Backward(numbers) {
		files = append(files, numbered(path, n))
	}
	return files, nil
}

func readFailed(err error) error { return fmt.Errorf("cannot read the audit log: %w", err) }

// LineError reports a damaged line.
type LineError struct {
	Where string // file and line
	Err   error
}

func (e *LineError) Error() string { return e.Where + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *LineError) Unwrap() error { return e.Err }

// Read yields the lines with numbers above after, oldest first. A damaged line comes with a *LineError, and Read
// continues; any other error ends the iteration.
func Read(path string, after int64) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		for p, err := range read(path, after) {
			switch {
			case err != nil:
				yield(Line{}, err)
				return
			case p.err == nil && p.line.Seq <= after, p.err != nil && p.torn: // another process is writing it
				continue
			case p.err != nil:
				err = &LineError{p.where, p.err}
			}
			if !yield(p.line, err) {
				return
			}
		}
	}
}

// place is a line and where it was read.
type place struct {
	where string // file and number
	line  Line
	err   error  // why the line is invalid
	hash  string // hash over an invalid line
	torn  bool   // no line end
}

// read yields the lines in all files, except for some with numbers up to after. An error is about a file, not a line.
func read(path string, after int64) iter.Seq2[place, error] {
	return func(yield func(place, error) bool) {
		files, err := Files(path)
		if err != nil {
			yield(place{}, err)
			return
		}
		for i, name := range files {
			if after > 0 && i+1 < len(files) && firstSeq(files[i+1]) <= after+1 {
				continue // all its lines come before
			}
			if !readFile(name, after, yield) {
				return
			}
		}
	}
}

// firstSeq returns the first line number in a file, or a large number if the file has no valid first line.
func firstSeq(name string) (seq int64) {
	seq = math.MaxInt64
	readFile(name, 0, func(p place, err error) bool {
		if err == nil && p.err == nil {
			seq = p.line.Seq
		}
		return false
	})
	return seq
}

// seqOf returns the number at the beginning of a line, or a large number if the line has none.
func seqOf(b []byte) int64 {
	digits, ok := bytes.CutPrefix(b, []byte(`{"seq":`))
	number, _, found := bytes.Cut(digits[:min(len(digits), 24)], []byte(","))
	n, err := strconv.ParseInt(string(number), 10, 64)
	if !ok || !found || err != nil {
		return math.MaxInt64
	}
	return n
}

func readFile(name string, after int64, yield func(place, error) bool) bool {
	f, err := openFile(name, os.O_RDONLY)
	if err != nil {
		return yield(place{}, readFailed(err)) && false
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	for n := 1; ; n++ {
		b, err := in.ReadBytes('\n')
		if len(b) > 0 && (after == 0 || seqOf(b) > after) {
			p := place{where: fmt.Sprintf("%s:%d", filepath.Base(name), n)}
			if p.torn = b[len(b)-1] != '\n'; !p.torn {
				b = b[:len(b)-1]
			}
			if p.line, p.err = decode(b); p.err != nil {
				p.hash = hashOf(b)
			}
			if !yield(p, nil) {
				return false
			}
		}
		switch {
		case err == io.EOF:
			return true
		case err != nil:
			return yield(place{}, readFailed(err)) && false
		}
	}
}

// Report is the result of Verify.
type Report struct {
	Lines       int
	First, Last int64    // first and last line number
	Hash        string   // hash of the last line; "" if there is none
	Problems    []string // changed, removed or reordered lines, with file and line
	Notes       []string // unusual but explained: interrupted writes, files removed by rotation
}

// OK reports whether Verify found no problems.
func (r Report) OK() bool { return len(r.Problems) == 0 }

// Verify checks a log's chain. expect, if not "", is a hash that some line must have: pass a hash saved earlier to
// detect that the whole log was replaced.
func Verify(path, expect string) (Report, error) {
	v := verifier{expect: expect}
	if f, err := os.Open(headName(path)); err == nil { // before the lines: more may be appended while Verify reads
		v.saved = readHead(f)
		v.dropped = v.saved.Dropped
		f.Close()
	} else {
		v.headless = errors.Is(err, fs.ErrNotExist)
	}
	for p, err := range read(path, 0) {
		if err != nil {
			return v.Report, err
		}
		v.check(p)
	}
	v.finish()
	return v.Report, nil
}

type verifier struct {
	Report
	saved    head
	expect   string
	expected bool   // a line has the expected hash
	bad      *place // an invalid line that the next line may explain
	dropped  int64  // last line that rotation removed
	headless bool   // the head is missing
}

func (v *verifier) problem(format string, args ...any) {
	v.Problems = append(v.Problems, fmt.Sprintf(format, args...))
}

func (v *verifier) check(p place) {
	if p.err != nil {
		v.reportBad()
		v.bad = &p
		return
	}
	l := p.line
	if v.bad != nil && l.Torn == v.bad.hash && l.Torn != "" {
		v.Notes = append(v.Notes, v.bad.where+": an interrupted write; line "+fmt.Sprint(l.Seq)+" continues the chain")
		v.bad = nil
	}
	v.reportBad()
	v.checkOrder(p)
	v.Lines++
	v.dropped = max(v.dropped, l.Dropped)
	v.expected = v.expected || l.Hash == v.expect
	if v.First == 0 {
		v.First = l.Seq
	}
	v.Last, v.Hash = l.Seq, l.Hash
}

// checkOrder checks that a line continues the chain.
func (v *verifier) checkOrder(p place) {
	l := p.line
	switch {
	case v.Lines == 0:
		if l.Seq == 1 && l.Prev != "" {
			v.problem("%s: line 1 continues another log", p.where)
		}
	case l.Seq <= v.Last:
		v.problem("%s: line %d comes after line %d: lines were reordered or inserted", p.where, l.Seq, v.Last)
	case l.Seq > v.Last+1:
		v.problem("%s: %s missing before line %d", p.where, lines(v.Last+1, l.Seq-1), l.Seq)
	case l.Prev != v.Hash:
		v.problem("%s: line %d does not continue line %d: one of them was replaced", p.where, l.Seq, v.Last)
	}
	if l.Seq == v.saved.Seq && l.Hash != v.saved.Hash {
		v.problem("%s: line %d was replaced: another hash was saved for it", p.where, l.Seq)
	}
}

func lines(from, to int64) string {
	if from == to {
		return fmt.Sprintf("line %d is", from)
	}
	return fmt.Sprintf("lines %d to %d are", from, to)
}

// reportBad reports an invalid line that nothing explains.
func (v *verifier) reportBad() {
	if v.bad != nil {
		v.problem("%s: %v", v.bad.where, v.bad.err)
		v.bad = nil
	}
}

// finish checks the first and last lines.
func (v *verifier) finish() {
	if v.bad != nil && v.bad.torn {
		v.Notes = append(v.Notes, v.bad.where+": an interrupted write at the end")
		v.bad = nil
	}
	v.reportBad()
	switch {
	case v.First > v.dropped+1:
		v.problem("the beginning of the log is missing: %s missing", lines(v.dropped+1, v.First-1))
	case v.First > 1:
		v.Notes = append(v.Notes, lines(1, v.First-1)+" in files that were removed by rotation")
	}
	if v.headless && v.Lines > 0 {
		v.problem("the head of the log was deleted, so that lines may be missing at its end")
	}
	if v.saved.Seq > v.Last {
		v.problem("the end of the log is missing: %s missing", lines(v.Last+1, v.saved.Seq))
	}
	if v.expect != "" && !v.expected {
		v.problem("no line has the expected hash %s: the log was replaced, or the line was removed", v.expect)
	}
}
