package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/project"
	"github.com/reins-agent/reins/skill"
)

func newSkills(h Host) *cobra.Command {
	return group(
		&cobra.Command{Use: "skills", Short: "List, show and check skills", Long: skillsHelp},
		newSkillsList(h),
		newSkillsShow(h),
		newSkillsLint(h),
	)
}

const skillsHelp = `List, show and check skills: instructions for a kind of task, in the format of
agentskills.io. The model loads a skill when a task matches its description. You
can use one yourself: reins run '/NAME ARGS'.

Claude Code commands and agents, codex prompts and gemini-cli commands are
skills too. Project skills are used only in trusted projects ("reins trust").`

// skillsHere finds the skills for the current directory and reports skills that cannot be used.
func (h Host) skillsHere() (*skill.Registry, error) {
	p, err := project.Load(context.Background(), h.options("."))
	if err != nil {
		return nil, err
	}
	r, err := p.FindSkills()
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
			t := &show.Table{
				Columns: []show.Column{{Title: "NAME", Colour: show.Cyan}, {Title: "FROM"}, {Title: "TOOLS"}, {Title: "DESCRIPTION"}},
			}
			for _, s := range r.All() {
				if asJSON {
					j := skillJSON{
						s.Name,
						orEmpty(s.Aliases),
						s.Description,
						s.Kind,
						s.Source,
						s.Path,
						s.AllowedTools,
						s.Model,
						s.UserInvocable,
						s.ModelInvoked,
						orEmpty(s.Warnings),
					}
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
