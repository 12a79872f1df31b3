//go:build unix

package tools_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/tool"
)

// faulty is an environment in which one change fails or, if stuck, all changes from there on.
type faulty struct {
	env.Environment
	failAt  int // the number of the change that fails, from 1
	stuck   bool
	changes int
	stop    context.CancelFunc // instead of failing
}

var errFull = errors.New("no space left on device")

func (f *faulty) change() error {
	f.changes++
	if f.changes == f.failAt || f.stuck && f.changes > f.failAt {
		if f.stop != nil {
			f.stop()
			return nil
		}
		return errFull
	}
	return nil
}

func (f *faulty) WriteFile(ctx context.Context, p string, data []byte, perm fs.FileMode) error {
	if err := f.change(); err != nil {
		return err
	}
	return f.Environment.WriteFile(ctx, p, data, perm)
}

func (f *faulty) Rename(ctx context.Context, from, to string) error {
	if err := f.change(); err != nil {
		return err
	}
	return f.Environment.Rename(ctx, from, to)
}

// mixed returns a patch with every operation, through links and into new directories.
func mixed(r *rig) args {
	r.write("m.txt", "a\nb\n")
	r.write("run.sh", "one\r\n")
	if err := os.Chmod(r.path("run.sh"), 0o750); err != nil {
		r.t.Fatal(err)
	}
	r.write("gone", "x")
	r.write("target", "t\n")
	r.write("onto", "overwritten")
	r.link("target", "link")
	r.link("made/by/link", "dangling")
	return patch(
		"*** Update File: m.txt", "@@", "-b", "+B",
		"*** Add File: n/o/p", "+x",
		"*** Delete File: link",
		"*** Delete File: gone",
		"*** Add File: gone", "+again",
		"*** Add File: dangling", "+x",
		"*** Update File: run.sh", "*** Move to: q/run.sh", "@@", "-one", "+1",
		"*** Update File: q/run.sh", "*** Move to: onto", "@@", "-1", "+2")
}

// Each change of the patch fails in turn. The files must be unchanged every time.
func TestApplyPatch_FailedWriteIsRolledBack(t *testing.T) {
	for i := 1; ; i++ {
		r := newRig(t, tools.Config{})
		p := mixed(r)
		before := r.tree()
		f := &faulty{Environment: r.env, failAt: i}
		r.env = f
		out := r.run("apply_patch", p)
		if out.OK() {
			if i < 8 || f.changes >= i {
				t.Errorf("the patch succeeded with change %d of %d failing", i, f.changes)
			}
			return
		}
		if e := out.Result.Error; e.Code != tool.IOError || !strings.Contains(e.Message, "no space left") || !strings.HasSuffix(e.Message, "Nothing was changed.") {
			t.Errorf("change %d: %+v", i, e)
		}
		if after := r.tree(); !maps.Equal(before, after) {
			t.Errorf("change %d: the files were %q and are %q", i, before, after)
		}
	}
}

func TestApplyPatch_InterruptionIsRolledBack(t *testing.T) {
	for i := 1; i <= 8; i++ {
		r := newRig(t, tools.Config{})
		p := mixed(r)
		before := r.tree()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r.env = &faulty{Environment: r.env, failAt: i, stop: cancel}
		out := r.pipe.Run(ctx, r.request("apply_patch", p))
		if after := r.tree(); !out.OK() && !maps.Equal(before, after) {
			t.Errorf("change %d: the files were %q and are %q", i, before, after)
		}
		if out.OK() || out.Result.Error.Code != tool.Cancelled {
			t.Errorf("change %d: %+v", i, out.Result.Error)
		}
	}
}

func TestApplyPatch_FailedRollbackIsReported(t *testing.T) {
	r := newRig(t, tools.Config{})
	p := mixed(r)
	r.env = &faulty{Environment: r.env, failAt: 3, stuck: true}
	r.fails(tool.IOError, "apply_patch", p, "could not be undone", "no space left")
}

func TestWriteAndEdit_FailedWriteLeavesTheOldFile(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.write("f", "old\n")
	for i, name := range []string{"write_file", "edit_file"} {
		r.env = &faulty{Environment: r.env, failAt: 1}
		a := []args{{"file_path": "f", "content": "new"}, {"file_path": "f", "old_string": "old", "new_string": "new"}}[i]
		r.fails(tool.IOError, name, a, "no space left")
	}
	if got := fmt.Sprint(r.read("f"), len(r.tree())); got != "old\n2" {
		t.Errorf("got %q", got)
	}
}
