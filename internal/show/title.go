package show

import (
	"encoding/json"
	"strings"

	"github.com/reins-agent/reins/tool"
)

// subjects are the arguments of all tools that best describe a call.
var subjects = []string{"command", "cmd", "file_path", "path", "dir_path", "pattern", "url", "query", "agent_id", "task", "question", "id"}

// Title formats a tool call on one line: the tool and its main arguments.
func Title(name string, args json.RawMessage) string {
	var values map[string]any
	_ = json.Unmarshal(args, &values) // a call with invalid arguments still has a name
	if inner, ok := values["arguments"].(map[string]any); ok && name == tool.CallName {
		called, _ := values["name"].(string)
		name, values = name+" "+called, inner
	}
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

// patchedFiles returns the files that a patch changes.
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
