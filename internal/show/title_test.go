package show

import "testing"

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
