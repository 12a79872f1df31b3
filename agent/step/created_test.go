package step_test

import (
	"testing"

	"github.com/reins-agent/reins/agent/step"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

func TestCreated_FollowsTheRecords(t *testing.T) {
	made := func(paths ...string) event.Data {
		return event.ToolCallEnd{Artifacts: tool.Artifacts{FilesChanged: []string{"x"}, FilesCreated: paths}}
	}
	deleted := event.ToolCallEnd{Accesses: []policy.Access{{Kind: policy.Delete, Target: "/a"}, {Kind: policy.Write, Target: "/b"}}}
	for name, tt := range map[string]struct {
		records []event.Data
		a, b    bool
	}{
		"nothing":          {nil, false, false},
		"created":          {[]event.Data{made("/a", "/b")}, true, true},
		"changed":          {[]event.Data{event.ToolCallEnd{Artifacts: tool.Artifacts{FilesChanged: []string{"/a"}}}}, false, false},
		"deleted":          {[]event.Data{made("/a", "/b"), deleted}, false, true},
		"created again":    {[]event.Data{made("/a"), deleted, made("/a")}, true, false},
		"undone":           {[]event.Data{made("/a", "/b"), event.Rewind{}}, false, false},
		"resumed":          {[]event.Data{made("/a"), event.SessionResume{}}, true, false},
		"imported":         {[]event.Data{made("/a"), event.SessionResume{Imported: true}, made("/b")}, false, true},
		"with a subagent":  {[]event.Data{made("/a"), event.SubagentStart{ID: "1"}, made("/b")}, true, true},
		"failed in middle": {[]event.Data{event.ToolCallEnd{Error: tool.Errorf(tool.PatchError, "x"), Artifacts: tool.Artifacts{FilesCreated: []string{"/a"}}}}, true, false},
	} {
		tree := step.NewTree()
		agent := ""
		for _, d := range tt.records {
			tree.Apply(event.Record{Agent: agent, Data: d})
			if s, ok := d.(event.SubagentStart); ok {
				agent = s.ID
			}
		}
		if a, b := tree.Created("/a"), tree.Created("/b"); a != tt.a || b != tt.b {
			t.Errorf("%s: created /a %v, /b %v, want %v, %v", name, a, b, tt.a, tt.b)
		}
	}
}
