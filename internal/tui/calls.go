package tui

import (
	"fmt"

	"github.com/reins-agent/reins/internal/tui/pager"
	"github.com/reins-agent/reins/view"
)

// toolSections returns what there is to read about a tool call.
func toolSections(t view.Tool) []pager.Section {
	var list []pager.Section
	if t.Diff != "" {
		list = append(list, pager.Diff(t.Diff)...)
	}
	if t.Error != "" {
		list = append(list, pager.Text("Error", t.Error))
	}
	output := t.Output.Head
	if t.Output.Omitted > 0 {
		output += fmt.Sprintf("\n… %d lines were left out …\n", t.Output.Omitted)
	} else if output != "" && t.Output.Tail != "" {
		output += "\n"
	}
	if output += t.Output.Tail; output != "" {
		list = append(list, pager.Text("Output", output))
	}
	if len(list) == 0 {
		list = append(list, pager.Text(t.Title, string(t.State)+" "+t.Outcome))
	}
	return list
}
