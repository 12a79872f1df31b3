package cli

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/internal/realpath"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/skill"
)

func newSkills(h Host) *cobra.Command {
	return group(&cobra.Command{Use: "skills", Short: "List, show and check skills", Long: skillsHelp}, newSkillsList(h), newSkillsShow(h), newSkillsLint(h))
}

const skillsHelp = `List, show and check skills: instructions for a kind of task, in the format of
agentskills.io. The model loads a skill when a task matches its description. You
can use one yourself: reins run '/NAME ARGS'.

Claude Code commands and agents, codex prompts and gemini-cli commands are
skills too. Project skills are used only in trusted projects ("reins trust").`

// findSkills finds the skills for a directory. Skills of the project are used only if it is trusted.
func (h Host) findSkills(s *config.Settings, dir string, trusted bool) (*skill.Registry, error) {
	src, err := h.sources(dir, nil)
	if err != nil {
		return nil, err
	}
	dir, err = realpath.Dir(cmp.Or(dir, "."))
	if err != nil {
		return nil, err
	}
	o := h.skillOptions()
	o.Paths, o.Dir, o.Disable = s.SkillPaths(), dir, s.Skills.Disable
	if trusted {
		o.Project = src.Dir
	}
	return skill.Discover(o), nil
}

// skillOptions returns where to look for the skills of the user.
func (h Host) skillOptions() skill.Options {
	o := skill.Options{Home: cmp.Or(h.Getenv("HOME"), h.Getenv("USERPROFILE")), Claude: h.Getenv("CLAUDE_CONFIG_DIR"), Codex: h.Getenv("CODEX_HOME")}
	if f, err := h.configFile(config.LayerUser); err == nil {
		o.Config = filepath.Dir(f.Path)
	}
	return o
}

// userDocs returns the files with the user's own instructions for agents. They may not exist. Later files take
// precedence.
func (h Host) userDocs() (files []string) {
	o := h.skillOptions()
	add := func(dir string, names ...string) {
		if dir != "" {
			files = append(files, filepath.Join(append([]string{dir}, names...)...))
		}
	}
	if o.Home != "" {
		add(o.Home, ".copilot", "copilot-instructions.md")
		add(o.Home, ".config", "opencode", "AGENTS.md")
		add(o.Home, ".gemini", "GEMINI.md")
		o.Codex, o.Claude = cmp.Or(o.Codex, filepath.Join(o.Home, ".codex")), cmp.Or(o.Claude, filepath.Join(o.Home, ".claude"))
	}
	add(o.Codex, "AGENTS.md")
	add(o.Claude, "CLAUDE.md")
	add(o.Config, "AGENTS.md")
	return files
}

// skillsHere finds the skills for the current directory and reports those that cannot be used.
func (h Host) skillsHere() (*skill.Registry, error) {
	trusted := trusts(h, ".")
	s, err := h.settings(".", trusted, nil)
	if err != nil {
		return nil, err
	}
	r, err := h.findSkills(s, ".", trusted)
	if err != nil {
		return nil, err
	}
	for _, p := range r.Problems() {
		notef(h, "%v", p)
	}
	return r, nil
}

// skillJSON is a skill as JSON.
type skillJSON struct {
	Name         string       `json:"name"`
	Aliases      []string     `json:"aliases"`
	Description  string       `json:"description"`
	Kind         skill.Kind   `json:"kind"`
	Source       skill.Source `json:"source"`
	Path         string       `json:"path,omitempty"`
	AllowedTools []string     `json:"allowed_tools"` // null allows all
	Model        string       `json:"model,omitempty"`
	User         bool         `json:"user_invocable"`
	ByModel      bool         `json:"model_invocable"`
	Warnings     []string     `json:"warnings"`
}

func newSkillsList(h Host) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the skills and commands for this directory",
		Args:  wantArgs(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			r, err := h.skillsHere()
			if err != nil {
				return err
			}
			t := &show.Table{Columns: []show.Column{{Title: "NAME", Colour: show.Cyan}, {Title: "FROM"}, {Title: "TOOLS"}, {Title: "DESCRIPTION"}}}
			for _, s := range r.All() {
				if asJSON {
					j := skillJSON{s.Name, orEmpty(s.Aliases), s.Description, s.Kind, s.Source, s.Path, s.AllowedTools, s.Model, s.UserInvocable, s.ModelInvoked, orEmpty(s.Warnings)}
					if err := printJSON(h.Stdout, j); err != nil {
						return err
					}
					continue
				}
				t.Add(s.Name, cmp.Or(shortDir(h, s.Path), string(s.Source)), s.Tools(), shorten(s.Description))
			}
			if asJSON {
				return nil
			}
			return printTable(h, t)
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func newSkillsShow(h Host) *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME [ARGS]",
		Short: "Print the instructions of a skill as the model sees them",
		Args:  wantArgs(1, anyNumber, "the NAME of a skill and optional arguments"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			quiet := h
			quiet.Stderr = io.Discard
			r, err := quiet.skillsHere()
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, s := range r.All() {
				names = append(names, cobra.CompletionWithDesc(s.Name, s.Description))
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := h.skillsHere()
			if err != nil {
				return err
			}
			s, ok := r.Find(strings.TrimPrefix(args[0], "/"))
			if !ok {
				var names []string
				for _, s := range r.All() {
					names = append(names, slices.Concat([]string{s.Name}, s.Aliases)...)
				}
				return usagef("unknown skill %q%s", args[0], didYouMean(args[0], names))
			}
			for _, w := range s.Warnings {
				notef(h, "%s: %s", s.Name, w)
			}
			_, err = fmt.Fprintln(h.Stdout, show.Visible(s.Invoke(strings.Join(args[1:], " "))))
			return err
		},
	}
}

// shorten returns a description on one line, for a table.
func shorten(text string) string {
	const maximum = 300
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > maximum {
		return string(runes[:maximum]) + "…"
	}
	return string(runes)
}
