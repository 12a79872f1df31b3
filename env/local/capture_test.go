package local

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"pgregory.net/rapid"

	"github.com/reins-agent/reins/env"
)

// add appends all of b.
func (c *capture) add(s env.Stream, b []byte) {
	for len(b) > 0 {
		data, _ := c.fill(s, func(space []byte) (int, error) { return copy(space, b), nil })
		b = b[len(data):]
	}
}

// spoolIn returns a function that creates spool files.
func spoolIn(dir string) func() (*os.File, error) {
	return func() (*os.File, error) { return os.CreateTemp(dir, "") }
}

// TestCapture_KeepsHeadAndTailOfEveryStream compares with everything that was written.
func TestCapture_KeepsHeadAndTailOfEveryStream(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.OneOf(rapid.Int64Range(1, 100), rapid.Int64Range(1, 70<<10), rapid.Int64Range(1, 600<<10)).Draw(t, "limit")
		c := newCapture(limit, spoolIn(dir))
		defer c.release()
		var all [3][]byte
		seed := byte(0)
		for range rapid.IntRange(0, 15).Draw(t, "writes") {
			s := rapid.SampledFrom([]env.Stream{env.Stdout, env.Stderr}).Draw(t, "stream")
			b := make([]byte, rapid.IntRange(1, 90<<10).Draw(t, "size"))
			for i := range b {
				seed = seed*31 + 7
				b[i] = seed ^ byte(i>>8)
			}
			c.add(s, b)
			all[env.Both] = append(all[env.Both], b...)
			all[s] = append(all[s], b...)
		}
		kept := int64(0)
		for s, want := range all {
			if got := c.written(env.Stream(s)); got != int64(len(want)) {
				t.Fatalf("stream %d: written %d, want %d", s, got, len(want))
			}
			n := compare(t, c, env.Stream(s), want)
			if s == int(env.Both) {
				kept = n
			}
		}
		total := int64(len(all[env.Both]))
		if kept+c.missing() != total {
			t.Fatalf("kept %d and dropped %d of %d", kept, c.missing(), total)
		}
		if kept > limit || total <= limit && kept != total || total > limit && kept < limit-slack(c) {
			t.Fatalf("kept %d of %d, the limit is %d", kept, total, limit)
		}
	})
}

// slack returns how much less than the limit may be kept.
func slack(c *capture) int64 {
	if c.spools() {
		return 2 * c.unit()
	}
	return 0
}

// compare reads a stream and checks every byte against the byte written at its offset.
func compare(t *rapid.T, c *capture, s env.Stream, want []byte) (kept int64) {
	start := rapid.Int64Range(0, int64(len(want))+10).Draw(t, "offset")
	for _, from := range []int64{start, 0} {
		kept = 0
		r := c.reader(s, from)
		buf := make([]byte, 1+rapid.IntRange(0, 100<<10).Draw(t, "buffer"))
		for {
			n, err := r.Read(buf)
			at := r.Offset() - int64(n)
			if n > 0 && !bytes.Equal(buf[:n], want[at:at+int64(n)]) {
				t.Fatalf("stream %d: wrong bytes at %d", s, at)
			}
			kept += int64(n)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if r.Offset() != max(from, int64(len(want))) {
			t.Fatalf("stream %d: read to %d of %d", s, r.Offset(), len(want))
		}
	}
	return kept
}

func TestCapture_AlternatingStreamsStayBounded(t *testing.T) {
	c := newCapture(1<<20, spoolIn(t.TempDir()))
	defer c.release()
	var want []byte
	for i := range 300_000 {
		b := []byte{byte(i)}
		c.add(env.Stdout+env.Stream(i%2), b)
		want = append(want, b...)
	}
	got, err := io.ReadAll(c.reader(env.Both, 0))
	if err != nil || !bytes.HasPrefix(want, got[:len(got)/3]) || !bytes.HasSuffix(want, got[len(got)-len(got)/3:]) {
		t.Errorf("head or tail of %d bytes is wrong, %v", len(got), err)
	}
	if fi, err := c.file.Stat(); err != nil || fi.Size() > 2<<20 {
		t.Errorf("the spool file has %d bytes, %v", fi.Size(), err)
	}
	if n := int64(len(got)) + c.missing(); n != int64(len(want)) {
		t.Errorf("kept and dropped are %d of %d", n, len(want))
	}
}

func TestCapture_FailingSpoolLosesOnlyWhatItMust(t *testing.T) {
	c := newCapture(1<<20, func() (*os.File, error) { return nil, errors.New("disk is full") })
	c.add(env.Stdout, make([]byte, 200<<10))
	c.add(env.Stdout, []byte("last words"))
	got, err := io.ReadAll(c.reader(env.Stdout, 0))
	if err != nil || !bytes.HasSuffix(got, []byte("last words")) || int64(len(got))+c.missing() != c.written(env.Stdout) {
		t.Errorf("kept %d, dropped %d, %v", len(got), c.missing(), err)
	}
}

func TestCapture_SmallOutputNeedsNoFile(t *testing.T) {
	c := newCapture(64<<20, func() (*os.File, error) {
		t.Error("a spool file was made")
		return nil, os.ErrClosed
	})
	c.add(env.Stdout, make([]byte, blockSize))
}

func TestCapture_AfterReleaseCountsOnly(t *testing.T) {
	c := newCapture(1<<20, spoolIn(t.TempDir()))
	c.add(env.Stdout, make([]byte, 200<<10))
	if err := c.release(); err != nil {
		t.Fatal(err)
	}
	c.add(env.Stdout, make([]byte, 200<<10))
	if got, err := io.ReadAll(c.reader(env.Stdout, 0)); len(got) != 0 || err != nil {
		t.Errorf("%d bytes after release, %v", len(got), err)
	}
	if c.written(env.Stdout) != 400<<10 {
		t.Errorf("written is %d", c.written(env.Stdout))
	}
}
