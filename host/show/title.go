package show

import (
	"encoding/json"
	"strings"
)

// subjects are the arguments that tell best what a call is about, over all tools.
var subjects = []string{"command", "cmd", "file_path", "path", "dir_path", "pattern", "agent_id", "task", "question", "id"}

// Title returns a tool call on one line: the tool and what the call is about.
func Title(name string, args json.RawMessage) string {
	var values map[string]any
	_ = json.Unmarshal(args, &values) // a call without readable arguments has a name at least
	title := Summary(name)
	var about []string
	for _, key := range []string{"patch", "input"} {
		if patch, ok := values[key].(string); ok {
			about = append(about, patchedFiles(patch)...)
		}
	}
	for _, key := range subjects {
		if s, ok := values[key].(string); ok && s != "" {
			about = append(about, s)
		}
	}
	if len(about) > 0 {
		title += " " + Summary(strings.Join(about, " "))
	}
	return title
}

// patchedFiles are the files that a patch names.
func patchedFiles(patch string) []string {
	var files []string
	for line := range strings.Lines(patch) {
		for _, head := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: "} {
			if file, ok := strings.CutPrefix(strings.TrimSpace(line), head); ok {
				files = append(files, file)
			}
		}
	}
	return files
}
