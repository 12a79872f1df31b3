package coding

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/tool"
)

// recordedSystem returns the system prompt that a saved session had last. Records that cannot be read
// are skipped: whether that is acceptable is decided when the session is resumed.
func recordedSystem(ctx context.Context, store event.Store, id string) (string, error) {
	system := ""
	for r, err := range store.Load(ctx, id, 0) {
		var damage *event.CorruptError
		switch {
		case errors.As(err, &damage):
			continue
		case err != nil:
			return "", err
		case r.Agent != "":
			continue
		}
		switch d := r.Data.(type) {
		case event.SessionStart:
			system = d.System
		case event.SessionResume:
			if d.System != "" {
				system = d.System
			}
		}
	}
	return system, nil
}

// describes reports whether a recorded system prompt is true of this profile: it has the profile's
// instructions, and names its model, the working directory and the tools.
func (p *Profile) describes(system string, info env.Info, tools []tool.Spec) bool {
	if !strings.HasPrefix(system, p.instructionsFor(tools)+"\n\n") {
		return false
	}
	parts := []string{"\n" + promptLine("Working directory", info.Dir), "\n" + promptLine("Model", p.DisplayName)}
	if list := toolText(tools); list != "" {
		parts = append(parts, "\n\n"+list+"\n")
	}
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(system, part) })
}

// generated reports whether SystemPrompt wrote a prompt, as opposed to the user.
func generated(system string) bool {
	return strings.Contains(system, "\n\n<environment>\nWorking directory: ") || strings.HasPrefix(system, "<environment>\nWorking directory: ")
}

// userInstructions returns the user's part of a prompt that SystemPrompt wrote. It is the last one. A
// document of the project that pretends to be it stands inside a block that it cannot close.
func userInstructions(system string) string {
	if i := strings.LastIndex(system, "</project_instructions>"); i >= 0 {
		system = system[i:]
	}
	_, user, _ := strings.Cut(system, "\n\n"+userHead)
	return strings.TrimSpace(user)
}
