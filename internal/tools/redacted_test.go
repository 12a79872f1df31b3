package tools_test

import (
	"testing"

	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/tool"
)

func TestRedacted_NoToolWritesAPlaceholderOverASecret(t *testing.T) {
	const real = "TOKEN=the-real-one\nmode=a\n"
	const shown = "TOKEN=[redacted:TOKEN]\nmode=b\n"
	for name, c := range map[string]struct {
		tool string
		args args
		says string
	}{
		"write":     {"write_file", args{"file_path": "file", "content": shown}, "[redacted:TOKEN] stands for a secret that is not shown to you"},
		"create":    {"write_file", args{"file_path": "new", "content": shown}, "[redacted:TOKEN] stands for a secret"},
		"new":       {"edit_file", args{"file_path": "file", "old_string": "mode=a", "new_string": shown}, "use a command"},
		"old":       {"edit_file", args{"file_path": "file", "old_string": "TOKEN=[redacted:TOKEN]\nmode=a", "new_string": shown}, "stands for a secret in the file and does not match it"},
		"patch":     {"apply_patch", args{"patch": "*** Begin Patch\n*** Update File: file\n@@\n-mode=a\n+TOKEN=[redacted:TOKEN]\n*** End Patch"}, "[redacted:TOKEN] stands for a secret"},
		"add":       {"apply_patch", args{"patch": "*** Begin Patch\n*** Add File: new\n+TOKEN=[redacted:TOKEN]\n*** End Patch"}, "[redacted:TOKEN] stands for a secret"},
		"alias":     {"Write", args{"file_path": "file", "content": shown}, "[redacted:TOKEN] stands for a secret"},
		"old patch": {"apply_patch", args{"patch": "*** Begin Patch\n*** Update File: file\n@@\n TOKEN=[redacted:TOKEN]\n-mode=a\n+mode=b\n*** End Patch"}, "choose lines without it"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, tools.Config{Redacted: true})
			r.write("file", real)
			code := tool.NotRead
			if name == "old patch" {
				code = tool.EditConflict
			}
			r.fails(code, c.tool, c.args, c.says)
			if got := r.read("file"); got != real {
				t.Errorf("the file is now %q", got)
			}
		})
	}
}

func TestRedacted_PlaceholdersOfTheFileItselfCanBeEdited(t *testing.T) {
	r := newRig(t, tools.Config{Redacted: true})
	r.write("docs", "see [redacted:jwt]\nend\n")
	r.ok("edit_file", args{"file_path": "docs", "old_string": "see [redacted:jwt]", "new_string": "now [redacted:jwt]"})
	r.ok("write_file", args{"file_path": "docs", "content": "new [redacted:jwt]\n"})
	r.ok("apply_patch", args{"patch": "*** Begin Patch\n*** Update File: docs\n@@\n-new [redacted:jwt]\n+all [redacted:jwt]\n*** End Patch"})
	if got := r.read("docs"); got != "all [redacted:jwt]\n" {
		t.Errorf("the file is %q", got)
	}
	plain := newRig(t, tools.Config{})
	plain.ok("write_file", args{"file_path": "docs", "content": "[redacted:jwt]"})
}
