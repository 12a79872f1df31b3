package show

import (
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
)

// TestCalls_DurationIsTheRecordedOne has a call that waited a minute for its approval. The recorded duration does not
// include that.
func TestCalls_DurationIsTheRecordedOne(t *testing.T) {
	then := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	open := make(Calls)
	for _, r := range []event.Record{
		{Time: then, Agent: "a", Data: event.ToolCallStart{ID: "c1", Name: "shell", Arguments: []byte(`{"command":"make"}`)}},
		{Time: then, Agent: "a", Data: event.ApprovalRequested{ID: "c1"}},
		{Time: then.Add(time.Minute), Agent: "a", Data: event.ApprovalResolved{ID: "c1", Allowed: true}},
	} {
		open.Note(r)
	}
	title, took := open.End("a", event.ToolCallEnd{ID: "c1", Name: "shell", Duration: 2 * time.Second})
	if title != "shell make" || took != 2*time.Second || len(open) != 0 {
		t.Errorf("got %q, %v and %d open calls, want \"shell make\", 2s and none", title, took, len(open))
	}
	if title, took := make(Calls).End("", event.ToolCallEnd{ID: "x", Name: "grep", Duration: time.Second}); title != "grep" || took != time.Second {
		t.Errorf("a call without a start: got %q and %v, want grep and 1s", title, took)
	}
}

func TestTitle_ShowsTheMainArgumentsOfEveryToolset(t *testing.T) {
	patch := `*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: b\n*** End Patch`
	for _, c := range []struct{ name, args, want string }{
		{"shell", `{"command":"make"}`, "shell make"},
		{"apply_patch", `{"patch":"` + patch + `"}`, "apply_patch a b"},
		{"apply_patch", `{"input":"` + patch + `"}`, "apply_patch a b"},
		{"exec_command", `{"cmd":"make"}`, "exec_command make"},
		{"list_directory", `{"dir_path":"src"}`, "list_directory src"},
		{"grep_search", `{"pattern":"TODO","dir_path":"src"}`, "grep_search src TODO"},
		{"replace", `{"file_path":"a","old_string":"x","new_string":"y"}`, "replace a"},
		{"Bash", `{`, "Bash"},
		{"call_tool", `{"name":"mcp__files__read_file","arguments":{"path":"a.go"}}`, "call_tool mcp__files__read_file a.go"},
		{"tool_search", `{"query":"create issue"}`, "tool_search create issue"},
	} {
		if got := Title(c.name, []byte(c.args)); got != c.want {
			t.Errorf("Title(%s, %s) = %q, want %q", c.name, c.args, got, c.want)
		}
	}
}
