package rules

import (
	"testing"

	"github.com/reins-agent/reins/policy"
)

func TestProtected_OrdinaryDirectoriesBelowProtectedOnes(t *testing.T) {
	w := policy.Workspace{Dir: "/w"}
	for file, want := range map[string]string{
		"/w/.claude/commands/x.md":            "",
		"/w/sub/.claude/agents/x.md":          "",
		"/w/.claude/skills/a/SKILL.md":        "",
		"/w/.claude/plans/x":                  "",
		"/w/.reins/plans/x":                   "",
		"/w/.claude/commands":                 "",
		"/w/.claude/settings.json":            ".claude",
		"/w/.claude/commands2/x":              ".claude",
		"/w/.reins/config.toml":               ".reins",
		"/w/.git/.claude/commands/x":          ".git", // they do not make other directories ordinary
		"/w/.claude/commands/.git/hooks/x":    ".git",
		"/w/GIT~1/.claude/commands/x":         ".git",
		"/w/.git ./.claude/commands/x":        ".git",
		"/w/.ssh/.claude/commands/x":          ".ssh",
		"/w/.claude/skills/a/.vscode/x":       ".vscode",
		"/w/.claude/skills/a/.envrc":          ".envrc",
		"/w/.claude/.reins/plans/x":           ".claude",
		"/w/.claude/commands/../settings":     ".claude",
		"/w/.claude/commands/.claude/plans/x": "",
	} {
		if got := protects(w, file); got != want {
			t.Errorf("Protected(%s) = %q, want %q", file, got, want)
		}
	}
}
