package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/skill"
)

// lintCommand holds the flags of "reins skills lint".
type lintCommand struct {
	strict, asJSON bool
}

func newSkillsLint(h Host) *cobra.Command {
	var o lintCommand
	cmd := &cobra.Command{
		Use:   "lint [flags] PATH...",
		Short: "Check skills for mistakes",
		Long: `Check skills for mistakes. PATH is a skill, or a directory with skills.

A skill is valid if the reference validator of agentskills.io accepts it. Other
findings are about problems in practice: broken references, paths that exist on
one machine only, hidden characters, descriptions that do not say when to use
the skill. docs/skills.md lists the rules.

In GitHub Actions, findings are also printed as annotations and added to the
step summary.`,
		Example: `  reins skills lint .claude/skills
  reins skills lint --strict skills/*      # fails at severity HIGH or CRITICAL
  reins skills lint --json . | jq 'select(.valid | not) | .path'`,
		Args: wantArgs(1, anyNumber, "at least one PATH"),
		RunE: func(_ *cobra.Command, paths []string) error { return o.run(h, paths) },
	}
	cmd.Flags().BoolVar(&o.strict, "strict", false, "exit with code 1 if there is a finding of severity HIGH or CRITICAL")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print JSON, one object per skill and line")
	return cmd
}

func (o lintCommand) run(h Host, paths []string) error {
	var all []skill.Report
	for _, p := range paths {
		reports, err := skill.Lint(p)
		if err != nil {
			return usageError{err}
		}
		all = append(all, reports...)
	}
	findings, serious := 0, false
	for _, r := range all {
		findings += len(r.Findings)
		serious = serious || r.Serious()
		if err := o.print(h, r); err != nil {
			return err
		}
	}
	if err := annotate(h, o.asJSON, all); err != nil {
		return err
	}
	notef(h, "%s, %s", show.Plural(len(all), "skill"), show.Plural(findings, "finding"))
	return failIf(o.strict && serious)
}

// print prints the findings of a skill.
func (o lintCommand) print(h Host, r skill.Report) error {
	if o.asJSON {
		return printJSON(h.Stdout, r)
	}
	for _, f := range r.Findings {
		line := fmt.Sprintf("%s:%d: %s %s: %s", filepath.Join(r.Path, filepath.FromSlash(f.File)), f.Line, f.Severity, f.Rule, f.Message)
		if _, err := fmt.Fprintln(h.Stdout, show.OneLine(line)); err != nil {
			return err
		}
	}
	return nil
}

// annotate tells GitHub Actions about the findings.
func annotate(h Host, asJSON bool, reports []skill.Report) error {
	if h.Getenv("GITHUB_ACTIONS") != "" {
		out := h.Stdout
		if asJSON {
			out = h.Stderr
		}
		if err := annotations(out, reports); err != nil {
			return err
		}
	}
	summary := h.Getenv("GITHUB_STEP_SUMMARY")
	if summary == "" {
		return nil
	}
	f, err := os.OpenFile(summary, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(summarize(f, reports), f.Close())
}

// commandText and commandValue escape the text and the property values of workflow commands.
var (
	commandText  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	commandValue = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func annotations(w io.Writer, reports []skill.Report) error {
	for _, r := range reports {
		for _, f := range r.Findings {
			level := "warning"
			if f.Severity == skill.Low {
				level = "notice"
			}
			file := filepath.ToSlash(filepath.Join(r.Path, filepath.FromSlash(f.File)))
			text := commandText.Replace(f.Rule + ": " + f.Message)
			if _, err := fmt.Fprintf(w, "::%s file=%s,line=%d::%s\n", level, commandValue.Replace(file), f.Line, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// summarize writes the findings as a Markdown table.
func summarize(w io.Writer, reports []skill.Report) error {
	cell := func(s string) string { return strings.ReplaceAll(show.OneLine(s), "|", `\|`) }
	var b strings.Builder
	n := 0
	for _, r := range reports {
		for _, f := range r.Findings {
			if n++; n == 1 {
				b.WriteString("| Skill | Rule | Severity | File | Finding |\n|---|---|---|---|---|\n")
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s:%d | %s |\n", cell(r.Path), f.Rule, f.Severity, cell(f.File), f.Line, cell(f.Message))
		}
	}
	if n > 0 {
		b.WriteString("\n")
	}
	_, err := fmt.Fprintf(w, "## Skills\n\n%s**%s, %s**\n", b.String(), show.Plural(len(reports), "skill"), show.Plural(n, "finding"))
	return err
}
