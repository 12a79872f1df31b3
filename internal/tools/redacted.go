package tools

import (
	"strings"

	"github.com/reins-agent/reins/secret"
	"github.com/reins-agent/reins/tool"
)

// placeholder returns an error if a new text has a placeholder for a secret that the old one does not have. The model
// has copied it from a redacted result, and writing it would destroy the secret. The error code is NotRead, so it is
// reported before the user is asked.
func (f files) placeholder(p, old, text string) error {
	if !f.config.Redacted {
		return nil
	}
	if found := secret.Added([]byte(old), []byte(text)); found != "" {
		return tool.Errorf(
			tool.NotRead,
			"%s was not changed: %s stands for a secret that is not shown to you, and writing it would replace the secret. "+
				"Leave the text around it as it is and edit other lines, or use a command.",
			p,
			found,
		)
	}
	return nil
}

// hidden returns an error if the text to replace has a placeholder that is not in the file.
func (f files) hidden(p string, content []byte, old string) error {
	if !f.config.Redacted {
		return nil
	}
	if found := secret.Added(content, []byte(old)); found != "" {
		return tool.Errorf(
			tool.NotRead,
			"%s was not changed: %s stands for a secret in the file and does not match it. Choose text before or after it, or "+
				"use a command.",
			p,
			found,
		)
	}
	return nil
}

// patchPlaceholder returns an error if the added lines of a patch have a placeholder that the removed lines do not
// have.
func (f files) patchPlaceholder(patch string) error {
	var removed, added strings.Builder
	for line := range strings.Lines(patch) {
		switch line[0] {
		case '-':
			removed.WriteString(line)
		case '+':
			added.WriteString(line)
		}
	}
	return f.placeholder("The workspace", removed.String(), added.String())
}
