//go:build unix

package native_test

import (
	"strings"
	"testing"

	"github.com/reins-agent/reins/coding"
)

func TestReadBeforeWrite_AppliesToToolsetsThatCanRead(t *testing.T) {
	patch := args{"input": "*** Begin Patch\n*** Update File: one\n@@\n-1\n+2\n*** End Patch"}
	for _, c := range []struct {
		family      coding.Family
		read, write string
		args        args
	}{
		{coding.GeminiFamily, "read_file", "write_file", args{"file_path": "one", "content": "2\n"}},
		{coding.GeminiFamily, "read_file", "replace", args{"file_path": "one", "instruction": "i", "old_string": "1", "new_string": "2"}},
		{coding.AnthropicFamily, "Read", "Write", args{"file_path": "one", "content": "2\n"}},
		{coding.OpenAIFamily, "", "apply_patch", patch}, // commands read, and which files is unknown
	} {
		r := newRig(t, c.family, coding.ToolConfig{ReadBeforeWrite: true})
		r.write("one", "1\n")
		if c.read != "" {
			if out := r.run(c.write, c.args); out.OK() || !strings.Contains(out.Model, "has not been read") {
				t.Errorf("%s gave %q, want a refusal", c.write, out.Model)
			}
			r.run(c.read, args{"file_path": "one"})
		}
		if out := r.run(c.write, c.args); !out.OK() || r.content("one") != "2\n" {
			t.Errorf("%s gave %q and %q", c.write, out.Model, r.content("one"))
		}
	}
}
