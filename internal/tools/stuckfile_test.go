//go:build unix

package tools_test

import (
	"context"
	"io"
	"os"
	"testing"
	"time"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/tool"
)

// waiting is an environment whose files block until they are closed or the test is over.
type waiting struct {
	env.Environment
	over    <-chan struct{}
	reading chan struct{}
}

func (w waiting) Open(context.Context, string) (io.ReadCloser, error) {
	closed, cancel := context.WithCancel(context.Background())
	return &stuckFile{w, closed, cancel}, nil
}

type stuckFile struct {
	w      waiting
	closed context.Context
	close  context.CancelFunc
}

func (s *stuckFile) Read([]byte) (int, error) {
	select {
	case s.w.reading <- struct{}{}:
	default:
	}
	select {
	case <-s.closed.Done():
	case <-s.w.over:
	}
	return 0, os.ErrClosed
}

func (s *stuckFile) Close() error { s.close(); return nil }

// A read that blocks must not block the call when its context ends.
func TestTools_BlockedReadDoesNotBlockTheCall(t *testing.T) {
	for name, a := range map[string]args{
		"read_file": {"file_path": "f"}, "write_file": {"file_path": "f", "content": "x"}, "edit_file": {"file_path": "f", "old_string": "x", "new_string": "y"},
		"apply_patch": patch("*** Update File: f", "@@", "-x", "+y"), "grep": {"pattern": "x"}, "view_image": {"path": "f"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, tools.Config{})
			r.write("f", "x\n")
			over := make(chan struct{})
			defer close(over)
			w := waiting{r.env, over, make(chan struct{}, 1)}
			r.env = w
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			done := make(chan tool.Outcome)
			go func() { done <- r.pipe.Run(ctx, r.request(name, a)) }()
			<-w.reading
			cancel()
			if out := <-done; out.OK() || out.Result.Error.Code != tool.Cancelled {
				t.Errorf("%+v", out.Result.Error)
			}
			if got := r.read("f"); got != "x\n" {
				t.Errorf("the file is %q", got)
			}
		})
	}
}
