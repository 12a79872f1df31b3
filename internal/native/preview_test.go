//go:build unix

package native_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// previewed refuses a call and returns the preview that the approver saw.
func (r *rig) previewed(name string, a args) (p tool.Preview, ok bool, err error) {
	r.Helper()
	pipe := &tool.Pipeline{Registry: r.pipe.Registry, Policy: policy.Func(func(context.Context, policy.Query) policy.Decision {
		return policy.Decision{Verdict: policy.Ask, Rule: "test"}
	})}
	asked := false
	pipe.Approve = func(ctx context.Context, req tool.Request) (tool.Approval, error) {
		asked = true
		p, ok, err = req.Preview(ctx)
		return tool.Approval{}, nil
	}
	if out := pipe.Run(r.Context(), r.call(name, a)); out.OK() || !asked {
		r.Errorf("%s %v was not asked about: %s", name, a, out.Model)
	}
	return p, ok, err
}

const onePatch = "*** Begin Patch\n*** Update File: one\n@@\n-1\n+2\n*** End Patch"

func TestPreview_NativeEditsMatchTheirPreview(t *testing.T) {
	for _, c := range []struct {
		family coding.Family
		tool   string
		args   args
	}{
		{coding.AnthropicFamily, "Edit", args{"file_path": "one", "old_string": "1", "new_string": "2"}},
		{coding.AnthropicFamily, "Write", args{"file_path": "one", "content": "2\n"}},
		{coding.GeminiFamily, "replace", args{"file_path": "one", "instruction": "i", "old_string": "1", "new_string": "2"}},
		{coding.GeminiFamily, "write_file", args{"file_path": "one", "content": "2\n"}},
		{coding.OpenAIFamily, "apply_patch", args{"input": onePatch}},
		{coding.OpenAIFamily, "exec_command", args{"cmd": "apply_patch <<'EOF'\n" + onePatch + "\nEOF\n"}},
	} {
		t.Run(string(c.family)+" "+c.tool, func(t *testing.T) {
			r := newRig(t, c.family, coding.ToolConfig{})
			r.write("one", "1\n")
			if c.family == coding.AnthropicFamily {
				r.run("Read", args{"file_path": "one"})
			}
			p, ok, err := r.previewed(c.tool, c.args)
			if !ok || err != nil || len(p.Changes) != 1 {
				t.Fatalf("the preview is %+v (%v, %v)", p, ok, err)
			}
			if got := p.Changes[0]; got.Path != filepath.Join(r.dir, "one") || string(got.Before) != "1\n" || string(got.After) != "2\n" {
				t.Errorf("the preview is %s: %q -> %q", got.Path, got.Before, got.After)
			}
			if r.content("one") != "1\n" {
				t.Error("the preview changed the file")
			}
			if out := r.run(c.tool, c.args); !out.OK() || r.content("one") != "2\n" {
				t.Errorf("the call gave %q and %q", out.Model, r.content("one"))
			}
		})
	}
}

func TestPreview_ReportsCallsThatVendorRulesRefuse(t *testing.T) {
	for _, c := range []struct {
		family coding.Family
		tool   string
		args   args
		want   string
	}{
		{coding.GeminiFamily, "replace", args{"file_path": "one", "instruction": "i", "old_string": "", "new_string": "2"}, "already exists"},
		{coding.GeminiFamily, "replace", args{"file_path": "one", "instruction": "i", "old_string": "1", "new_string": "// ... rest of code ..."}, "placeholder"},
		{coding.GeminiFamily, "write_file", args{"file_path": "one", "content": "// ... rest of code ..."}, "placeholder"},
	} {
		r := newRig(t, c.family, coding.ToolConfig{})
		r.write("one", "1\n")
		if p, ok, err := r.previewed(c.tool, c.args); !ok || err == nil || !strings.Contains(err.Error(), c.want) || len(p.Changes) > 0 {
			t.Errorf("the preview of %s %v is %+v (%v, %v), want %q", c.tool, c.args, p, ok, err, c.want)
		}
	}
}

func TestPreview_CommandsHaveNoPreview(t *testing.T) {
	r := newRig(t, coding.OpenAIFamily, coding.ToolConfig{})
	if p, ok, err := r.previewed("exec_command", args{"cmd": "touch made"}); ok || err != nil || len(p.Changes) > 0 {
		t.Errorf("a command claims to know what it changes: %+v (%v, %v)", p, ok, err)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "made")); err == nil {
		t.Error("the preview ran the command")
	}
}
