package cli

import (
	"cmp"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/reins-agent/reins/internal/realpath"
	"github.com/reins-agent/reins/internal/show"
)

// otherFile is a file or directory of another agent.
type otherFile struct {
	agent, path, what string
	why               string // why it is ignored; "" if it is used
	trust             bool   // it is used only in trusted projects
}

const (
	noSettings = `settings are not read; use "reins config set"`
	noServers  = `MCP servers are not read; add them with "reins mcp add"`
	noPlugins  = "plugins and extensions are not supported"
	noHooks    = `hooks are not read; use "hooks" in config.toml`
	noRules    = `rules are not read; use "reins policy allow" and "deny"`
	noCommands = "not searched; move them to .claude/commands"
	noAgents   = "not searched; move them to .claude/agents"
	noSkills   = "not searched; move them to .agents/skills"
)

// userOthers are files of other agents in the home directory.
var userOthers = []otherFile{
	{agent: "Claude Code", path: ".claude/CLAUDE.md", what: "instructions"},
	{agent: "Claude Code", path: ".claude/settings.json", what: "permissions"},
	{agent: "Claude Code", path: ".claude/commands", what: "commands"},
	{agent: "Claude Code", path: ".claude/agents", what: "agents"},
	{agent: "Claude Code", path: ".claude/skills", what: "skills"},
	{agent: "Claude Code", path: ".claude/rules", what: "rules", why: "not read; import them in ~/.claude/CLAUDE.md with @path"},
	{agent: "Claude Code", path: ".claude/plugins", what: "plugins", why: noPlugins},
	{agent: "Claude Code", path: ".claude.json", what: "settings", why: noServers},
	{agent: "Codex", path: ".codex/AGENTS.md", what: "instructions"},
	{agent: "Codex", path: ".codex/AGENTS.override.md", what: "instructions", why: "only AGENTS.md is read"},
	{agent: "Codex", path: ".codex/prompts", what: "commands"},
	{agent: "Codex", path: ".codex/config.toml", what: "settings", why: noSettings + "; " + noServers},
	{agent: "Codex", path: ".codex/rules", what: "permissions", why: noRules},
	{agent: "Codex", path: ".codex/hooks.json", what: "hooks", why: noHooks},
	{agent: "Codex", path: ".codex/agents", what: "agents", why: noAgents},
	{agent: "Codex", path: ".codex/skills", what: "skills", why: noSkills},
	{agent: "Gemini CLI", path: ".gemini/GEMINI.md", what: "instructions"},
	{agent: "Gemini CLI", path: ".gemini/commands", what: "commands"},
	{agent: "Gemini CLI", path: ".gemini/settings.json", what: "settings", why: noSettings + "; " + noServers},
	{agent: "Gemini CLI", path: ".gemini/policies", what: "permissions", why: noRules},
	{agent: "Gemini CLI", path: ".gemini/agents", what: "agents", why: noAgents},
	{agent: "Gemini CLI", path: ".gemini/skills", what: "skills", why: noSkills},
	{agent: "Gemini CLI", path: ".gemini/extensions", what: "extensions", why: noPlugins},
	{agent: "Cursor", path: ".cursor/mcp.json", what: "MCP servers", why: noServers},
	{agent: "Cursor", path: ".cursor/cli-config.json", what: "permissions", why: noRules},
	{agent: "Cursor", path: ".cursor/commands", what: "commands", why: noCommands},
	{agent: "Cursor", path: ".cursor/agents", what: "agents", why: noAgents},
	{agent: "Cursor", path: ".cursor/skills", what: "skills", why: noSkills},
	{agent: "Cursor", path: ".cursor/hooks.json", what: "hooks", why: noHooks},
	{agent: "Copilot", path: ".copilot/copilot-instructions.md", what: "instructions"},
	{agent: "Copilot", path: ".copilot/config.json", what: "settings", why: noSettings},
	{agent: "Copilot", path: ".copilot/mcp-config.json", what: "MCP servers", why: noServers},
	{agent: "Copilot", path: ".copilot/agents", what: "agents", why: noAgents},
	{agent: "Copilot", path: ".copilot/skills", what: "skills", why: noSkills},
	{agent: "opencode", path: ".config/opencode/AGENTS.md", what: "instructions"},
	{agent: "opencode", path: ".config/opencode/opencode.json", what: "settings", why: noSettings + "; " + noServers},
	{agent: "opencode", path: ".config/opencode/opencode.jsonc", what: "settings", why: noSettings + "; " + noServers},
	{agent: "opencode", path: ".config/opencode/command", what: "commands", why: noCommands},
	{agent: "opencode", path: ".config/opencode/commands", what: "commands", why: noCommands},
	{agent: "opencode", path: ".config/opencode/agent", what: "agents", why: noAgents},
	{agent: "opencode", path: ".config/opencode/agents", what: "agents", why: noAgents},
	{agent: "opencode", path: ".config/opencode/skills", what: "skills", why: noSkills},
	{agent: "opencode", path: ".config/opencode/plugins", what: "plugins and hooks", why: noPlugins},
}

// projectOthers are files of other agents in a project.
var projectOthers = []otherFile{
	{agent: "Claude Code", path: "CLAUDE.md", what: "instructions"},
	{agent: "Claude Code", path: ".claude/CLAUDE.md", what: "instructions"},
	{agent: "Claude Code", path: "CLAUDE.local.md", what: "instructions"},
	{agent: "Claude Code", path: ".claude/settings.json", what: "permissions", trust: true},
	{agent: "Claude Code", path: ".claude/settings.local.json", what: "permissions", trust: true},
	{agent: "Claude Code", path: ".claude/commands", what: "commands", trust: true},
	{agent: "Claude Code", path: ".claude/agents", what: "agents", trust: true},
	{agent: "Claude Code", path: ".claude/skills", what: "skills", trust: true},
	{agent: "Claude Code", path: ".claude/rules", what: "rules", why: "not read; import them in CLAUDE.md with @path"},
	{agent: "Claude Code", path: ".mcp.json", what: "MCP servers", trust: true},
	{agent: "Codex", path: "AGENTS.override.md", what: "instructions", why: "only AGENTS.md is read"},
	{agent: "Codex", path: ".codex/instructions.md", what: "instructions for OpenAI models"},
	{agent: "Codex", path: ".codex/prompts", what: "commands", trust: true},
	{agent: "Codex", path: ".codex/config.toml", what: "settings", why: noSettings + "; " + noServers},
	{agent: "Codex", path: ".codex/agents", what: "agents", why: noAgents},
	{agent: "Codex", path: ".codex/skills", what: "skills", why: noSkills},
	{agent: "Gemini CLI", path: "GEMINI.md", what: "instructions"},
	{agent: "Gemini CLI", path: ".gemini/commands", what: "commands", trust: true},
	{agent: "Gemini CLI", path: ".gemini/settings.json", what: "settings", why: noSettings + "; " + noServers},
	{agent: "Gemini CLI", path: ".gemini/agents", what: "agents", why: noAgents},
	{agent: "Gemini CLI", path: ".gemini/skills", what: "skills", why: noSkills},
	{agent: "Cursor", path: ".cursorrules", what: "instructions"},
	{agent: "Cursor", path: ".cursor/rules", what: "instructions (*.mdc)"},
	{agent: "Cursor", path: ".cursor/mcp.json", what: "MCP servers", why: noServers},
	{agent: "Cursor", path: ".cursor/cli.json", what: "permissions", why: noRules},
	{agent: "Cursor", path: ".cursor/commands", what: "commands", why: noCommands},
	{agent: "Cursor", path: ".cursor/agents", what: "agents", why: noAgents},
	{agent: "Cursor", path: ".cursor/skills", what: "skills", why: noSkills},
	{agent: "Cursor", path: ".cursor/hooks.json", what: "hooks", why: noHooks},
	{agent: "Copilot", path: ".github/copilot-instructions.md", what: "instructions"},
	{agent: "Copilot", path: ".github/instructions", what: "instructions (applyTo)"},
	{agent: "Copilot", path: ".github/prompts", what: "commands", why: noCommands},
	{agent: "Copilot", path: ".github/agents", what: "agents", why: noAgents},
	{agent: "Copilot", path: ".github/skills", what: "skills", why: noSkills},
	{agent: "Copilot", path: ".github/hooks", what: "hooks", why: noHooks},
	{agent: "Copilot", path: ".vscode/mcp.json", what: "MCP servers", why: noServers},
	{agent: "opencode", path: "opencode.json", what: "settings", why: noSettings + "; " + noServers},
	{agent: "opencode", path: "opencode.jsonc", what: "settings", why: noSettings + "; " + noServers},
	{agent: "opencode", path: ".opencode/command", what: "commands", why: noCommands},
	{agent: "opencode", path: ".opencode/commands", what: "commands", why: noCommands},
	{agent: "opencode", path: ".opencode/agent", what: "agents", why: noAgents},
	{agent: "opencode", path: ".opencode/agents", what: "agents", why: noAgents},
	{agent: "opencode", path: ".opencode/skills", what: "skills", why: noSkills},
	{agent: "opencode", path: ".opencode/plugins", what: "plugins and hooks", why: noPlugins},
}

// The states of a file of another agent.
const (
	stateUsed    = "used"
	stateIgnored = "ignored"
)

// otherChecks reports which files of other agents exist, for the user and for the current directory, and whether they
// are used.
func (h Host) otherChecks() (checks []check) {
	o := h.machine().Skills()
	for _, f := range userOthers {
		full := filepath.Join(o.Home, f.path)
		if rest, ok := strings.CutPrefix(f.path, ".claude/"); ok && o.Claude != "" {
			full = filepath.Join(o.Claude, rest)
		}
		if rest, ok := strings.CutPrefix(f.path, ".codex/"); ok && o.Codex != "" {
			full = filepath.Join(o.Codex, rest)
		}
		if o.Home != "" || filepath.IsAbs(full) {
			checks = append(checks, h.otherCheck(f, full, shortDir(h, full), "", true)...)
		}
	}
	src, err := h.machine().Sources(".")
	if err != nil {
		return checks
	}
	dir, err := realpath.Dir(".")
	if err != nil {
		return checks
	}
	trusted := h.trusted(".")
	for d := dir; ; d = filepath.Dir(d) {
		rel, err := filepath.Rel(src.Dir, d)
		if err != nil || !filepath.IsLocal(rel) || d == o.Home {
			break
		}
		for _, f := range projectOthers {
			if f.path == ".mcp.json" && d != src.Dir {
				f.why = "only the one in the root of the project is read"
			}
			checks = append(
				checks,
				h.otherCheck(f, filepath.Join(d, f.path), filepath.ToSlash(filepath.Join(rel, f.path)), instead(d, f.path), trusted)...)
		}
		if d == src.Dir {
			break
		}
	}
	slices.SortStableFunc(checks, func(a, b check) int { return cmp.Compare(a.Name, b.Name) })
	return checks
}

// instead returns why an instruction file is not used: there is a better one in its directory.
func instead(dir, name string) string {
	has := func(name string) bool {
		info, err := os.Stat(filepath.Join(dir, name))
		return err == nil && info.Mode().IsRegular() && info.Size() > 0
	}
	switch {
	case !slices.Contains([]string{"CLAUDE.md", ".claude/CLAUDE.md", "GEMINI.md", ".codex/instructions.md"}, name):
	case has("AGENTS.md"):
		return "AGENTS.md in the same directory is used instead"
	case name == "GEMINI.md" && (has("CLAUDE.md") || has(".claude/CLAUDE.md")):
		return "only Gemini models use it; others use CLAUDE.md"
	case name == ".claude/CLAUDE.md" && has("CLAUDE.md"):
		return "CLAUDE.md in the same directory is used instead"
	}
	return ""
}

// otherCheck reports about one file, if it exists.
func (h Host) otherCheck(f otherFile, full, shown, instead string, trusted bool) []check {
	info, err := os.Lstat(full)
	if err != nil || info.IsDir() && strings.Contains(filepath.Base(f.path), ".json") { // a sandbox may hold the name
		return nil
	}
	c := check{Name: f.agent, State: stateUsed, Details: shown + ": " + f.what}
	why := cmp.Or(instead, f.why)
	if why == "" && f.trust && !trusted {
		why = `the project is not trusted; run "reins trust"`
	}
	if why == "" && strings.HasSuffix(f.path, ".claude/settings.json") && h.claudeHooksOff() {
		c.Details += `; its hooks are not: set claude_hooks to true to use them`
	}
	if why != "" {
		c.State = stateIgnored
		c.Details += ": " + why
		if names := serverNames(full); len(names) > 0 && strings.Contains(why, noServers) {
			c.Details += " (" + strings.Join(names, ", ") + ")"
		}
	}
	return []check{c}
}

// claudeHooksOff reports whether hooks of Claude Code are not used.
func (h Host) claudeHooksOff() bool {
	p, err := h.peek(".")
	return err != nil || !p.Settings.ClaudeHooks
}

// serverNames returns the names of the MCP servers in a settings file of another agent, at most five.
func serverNames(file string) (names []string) {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() { // opening a FIFO would wait
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 8<<20))
	if err != nil {
		return nil
	}
	var found struct {
		Servers map[string]any `json:"mcpServers" toml:"mcp_servers"`
		VSCode  map[string]any `json:"servers" toml:"-"`
		Open    map[string]any `json:"mcp" toml:"-"`
	}
	if filepath.Ext(file) == ".toml" {
		err = toml.Unmarshal(data, &found)
	} else {
		err = json.Unmarshal(data, &found)
	}
	if err != nil {
		return nil
	}
	for _, servers := range []map[string]any{found.Servers, found.VSCode, found.Open} {
		for name := range servers {
			names = append(names, show.OneLine(name))
		}
	}
	slices.Sort(names)
	if len(names) > 5 {
		names = append(names[:5], "…")
	}
	return names
}

// printChecks prints checks in at most 80 columns.
func printChecks(w io.Writer, checks []check) error {
	const name, state, width = 13, 9, 80
	pad := func(s string, n int) string { return s + strings.Repeat(" ", max(n-show.Width(s), 1)) }
	var b strings.Builder
	b.WriteString(pad("CHECK", name) + pad("STATE", state) + "DETAILS\n")
	for _, c := range checks {
		line := pad(c.Name, name) + pad(c.State, state)
		for i, word := range strings.Fields(show.OneLine(c.Details)) {
			if i > 0 && show.Width(line)+1+show.Width(word) > width {
				b.WriteString(strings.TrimRight(line, " ") + "\n")
				line = strings.Repeat(" ", name+state)
			} else if i > 0 {
				line += " "
			}
			line += word
		}
		b.WriteString(line + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
