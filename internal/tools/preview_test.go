//go:build unix

package tools_test

import (
	"context"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// previewed runs an approved call and returns its preview and its outcome. The preview must change nothing.
func (r *rig) previewed(name string, a args) (tool.Preview, tool.Outcome, error) {
	r.t.Helper()
	var p tool.Preview
	var err error
	pipe := &tool.Pipeline{Registry: r.pipe.Registry, Policy: asks}
	pipe.Approve = func(ctx context.Context, req tool.Request) (tool.Approval, error) {
		before := r.tree()
		var ok bool
		if p, ok, err = req.Preview(ctx); !ok {
			r.t.Errorf("%s %v has no preview", name, a)
		}
		if !maps.Equal(before, r.tree()) {
			r.t.Errorf("the preview of %s %v changed files", name, a)
		}
		return tool.Approval{Allow: true}, nil
	}
	out := pipe.Run(r.t.Context(), r.request(name, a))
	return p, out, err
}

var asks = policy.Func(func(context.Context, policy.Query) policy.Decision {
	return policy.Decision{Verdict: policy.Ask, Rule: "test"}
})

// sketch writes a preview in lines of "path: before -> after".
func (r *rig) sketch(p tool.Preview) string {
	state := func(exists bool, content []byte) string {
		switch {
		case !exists:
			return "none"
		case content == nil:
			return "unknown"
		}
		return string(content)
	}
	var lines []string
	for _, c := range p.Changes {
		lines = append(lines, strings.TrimPrefix(c.Path, r.dir+"/")+": "+state(c.Existed, c.Before)+" -> "+state(c.Exists, c.After))
	}
	return strings.Join(lines, "; ")
}

func TestPreview_MatchesWhatTheCallDoes(t *testing.T) {
	for _, c := range []struct {
		name, tool string
		args       args
		want       string
	}{
		{"new file", "write_file", args{"file_path": "sub/new", "content": "x"}, "sub/new: none -> x"},
		{"replaced file keeps its line endings", "write_file", args{"file_path": "crlf", "content": "x\ny\n"}, "crlf: a\r\n -> x\r\ny\r\n"},
		{"through a link", "write_file", args{"file_path": "link", "content": "x"}, "one: 1\n -> x"},
		{"too large to compare", "write_file", args{"file_path": "large", "content": "x"}, "large: unknown -> x"},
		{"edit", "edit_file", args{"file_path": "one", "old_string": "1", "new_string": "2"}, "one: 1\n -> 2\n"},
		{"edit that was made already", "edit_file", args{"file_path": "one", "old_string": "0", "new_string": "1"}, ""},
		{"edit that creates", "edit_file", args{"file_path": "new", "old_string": "", "new_string": "x"}, "new: none -> x"},
		{"alias", "Edit", args{"file_path": "one", "old_string": "1", "new_string": "2"}, "one: 1\n -> 2\n"},
		{"delete", "delete_file", args{"path": "one"}, "one: 1\n -> none"},
		{"delete a link", "delete_file", args{"path": "link"}, "link: unknown -> none"},
		{"patch", "apply_patch", patch("*** Add File: new", "+x", "*** Delete File: one", "*** Update File: two", "*** Move to: three", "@@", "-2", "+3"),
			"new: none -> x\n; one: 1\n -> none; three: none -> 3\n; two: 2\n -> none"},
		{"patch in steps", "apply_patch", patch("*** Update File: one", "@@", "-1", "+2", "*** Update File: one", "@@", "-2", "+3", "*** Delete File: two", "*** Add File: two", "+4"),
			"one: 1\n -> 3\n; two: 2\n -> 4\n"},
		{"patch through a link", "apply_patch", patch("*** Update File: link", "@@", "-1", "+2"), "one: 1\n -> 2\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, tools.Config{MaxFileSize: 100})
			for name, content := range map[string]string{"one": "1\n", "two": "2\n", "crlf": "a\r\n", "large": strings.Repeat("x", 101)} {
				r.write(name, content)
			}
			r.link("one", "link")
			p, out, err := r.previewed(c.tool, c.args)
			if got := r.sketch(p); got != c.want || err != nil || !out.OK() {
				t.Fatalf("the preview is %q (%v), want %q; the call gave %q", got, err, c.want, out.Model)
			}
			for _, change := range p.Changes {
				b, err := os.ReadFile(change.Path)
				if exists := err == nil; exists != change.Exists || string(b) != string(change.After) {
					t.Errorf("%s became %q (%v), the preview said %q", change.Path, b, err, change.After)
				}
			}
		})
	}
}

func TestPreview_OfACallThatFailsIsItsFailure(t *testing.T) {
	for name, a := range map[string]args{
		"write_file":  {"file_path": ".", "content": "x"},
		"edit_file":   {"file_path": "one", "old_string": "not there", "new_string": "x"},
		"delete_file": {"path": "nothing"},
		"apply_patch": patch("*** Update File: nothing", "@@", "-1", "+2"),
	} {
		r := newRig(t, tools.Config{})
		r.write("one", "1\n")
		p, out, err := r.previewed(name, a)
		if err == nil || len(p.Changes) > 0 || out.OK() || out.Result.Error.Message != err.Error() {
			t.Errorf("%s: the preview is %+v (%v), the call gave %q", name, p, err, out.Model)
		}
	}
}
