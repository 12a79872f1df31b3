package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reins-agent/reins/internal/show"
)

const (
	helpWidth  = 80
	flagColumn = 28 // where descriptions of flags begin
	manyFlags  = 12 // a command with more flags lists them in groups
)

// A flagGroup names flags that help shows under one title. A flag has one meaning in all commands, so the groups are for
// all of them.
type flagGroup struct {
	title string
	names string
}

var flagGroups = []flagGroup{
	{
		"Model",
		"profile-name provider model no-model effort thinking fallback base-url header response-timeout cache-ttl service-tier " +
			"max-tokens catalogue",
	},
	{
		"Prompt and tools",
		"file system append-system profile toolset tool-tier tool-allow tool-deny coder mcp-config no-mcp contract guardrails",
	},
	{"Permissions", "mode rules yes defer-approvals wait-for-approvals trust sandbox network writable allow-file"},
	{
		"Session",
		"worktree attempts choose judge cwd continue resume fork session-id session no-save skip-damaged compact-at past-price-step",
	},
	{"Limits", "max-rounds max-turns budget timeout deadline max-duration max-retries"},
	{"Server", "http token-file allow-host allow-origin"},
	{
		"Input and output",
		"now inline plain output quiet verbose stream json json-schema all edit dry-run keep-running listen webhook-secret-env " +
			"return-all-messages return-metrics log-metrics debug version",
	},
}

// addCommands adds commands that help lists under one title.
func addCommands(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title + ":"})
	for _, c := range commands {
		c.GroupID = title
	}
	root.AddCommand(commands...)
}

// printUsage prints how a command is used in lines of at most 80 columns.
func printUsage(cmd *cobra.Command) error {
	w := cmd.OutOrStderr()
	fmt.Fprintf(w, "Usage:\n  %s\n", useLine(cmd))
	if cmd.HasAvailableSubCommands() {
		printCommands(w, cmd)
	}
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(w, "\nAliases:\n  %s\n", cmd.NameAndAliases())
	}
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	for _, s := range flagSections(cmd) {
		fmt.Fprintf(w, "\n%s:\n", s.title)
		for _, f := range s.flags {
			printFlag(w, f)
		}
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\nUse \"%s COMMAND --help\" for more information about a command.\n", cmd.CommandPath())
	}
	return nil
}

func useLine(cmd *cobra.Command) string {
	if cmd.HasAvailableSubCommands() {
		return cmd.CommandPath() + " COMMAND"
	}
	return cmd.UseLine()
}

func printCommands(w io.Writer, cmd *cobra.Command) {
	groups := append(slices.Clone(cmd.Groups()), &cobra.Group{Title: "Other commands:"})
	if len(groups) == 1 {
		groups[0].Title = "Commands:"
	}
	for _, g := range groups {
		title := "\n" + g.Title + "\n"
		for _, c := range cmd.Commands() {
			if c.GroupID == g.ID && (c.IsAvailableCommand() || c.Name() == "help") {
				fmt.Fprintf(w, "%s  %-*s %s\n", title, c.NamePadding(), c.Name(), c.Short)
				title = ""
			}
		}
	}
}

// A flagSection is a title with flags of one command.
type flagSection struct {
	title string
	flags []*pflag.Flag
}

// flagSections returns the flags of a command, in groups if there are many.
func flagSections(cmd *cobra.Command) []flagSection {
	cmd.InitDefaultHelpFlag()
	var all []*pflag.Flag
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			all = append(all, f)
		}
	})
	if len(all) <= manyFlags {
		return []flagSection{{"Flags", all}}
	}
	var sections []flagSection
	for _, g := range flagGroups {
		s := flagSection{title: g.title}
		for _, name := range strings.Fields(g.names) {
			if i := slices.IndexFunc(all, func(f *pflag.Flag) bool { return f.Name == name }); i >= 0 {
				s.flags = append(s.flags, all[i])
				all = slices.Delete(all, i, i+1)
			}
		}
		if len(s.flags) > 0 {
			sections = append(sections, s)
		}
	}
	return append(sections, flagSection{"Other flags", all})
}

// flagHelp returns a flag with its value, as pflag prints it, and its description with the default.
func flagHelp(f *pflag.Flag) (name, text string) {
	one := pflag.NewFlagSet("", pflag.ContinueOnError)
	one.AddFlag(f)
	line := one.FlagUsages()
	_, usage := pflag.UnquoteUsage(f)
	name, text, _ = strings.Cut(line, usage)
	text = strings.TrimSpace(usage + text)
	if f.Name == "help" {
		text = "show this help"
	}
	return strings.TrimRight(name, " "), text
}

func printFlag(w io.Writer, f *pflag.Flag) {
	name, text := flagHelp(f)
	rows := wrapWords(text, helpWidth-flagColumn)
	if len(name) > flagColumn-2 {
		fmt.Fprintln(w, name)
		name = ""
	}
	for _, row := range rows {
		fmt.Fprintf(w, "%-*s%s\n", flagColumn, name, row)
		name = ""
	}
}

// wrapWords splits a text between words into rows of at most width columns. A longer word has its own row.
func wrapWords(text string, width int) []string {
	rows := []string{""}
	for word := range strings.FieldsSeq(text) {
		last := &rows[len(rows)-1]
		switch {
		case *last == "":
			*last = word
		case show.Width(*last)+1+show.Width(word) <= width:
			*last += " " + word
		default:
			rows = append(rows, word)
		}
	}
	return rows
}
