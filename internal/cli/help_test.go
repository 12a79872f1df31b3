package cli

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reins-agent/reins/internal/show"
)

// eachCommand calls f for all commands, parents first.
func eachCommand(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, sub := range cmd.Commands() {
		eachCommand(sub, f)
	}
}

func TestHelp_FitsIn80Columns(t *testing.T) {
	eachCommand(newRoot(Host{}), func(cmd *cobra.Command) {
		var out bytes.Buffer
		cmd.Root().SetOut(&out)
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(cmd.CommandPath(), "reins completion ") {
			return // Cobra's text
		}
		for line := range strings.Lines(out.String()) {
			if n := show.Width(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%s --help has a line of %d columns: %s", cmd.CommandPath(), n, line)
			}
		}
	})
}

func TestHelp_EveryCommandAndEveryFlagOfALongListHasAGroup(t *testing.T) {
	root := newRoot(Host{})
	for _, cmd := range root.Commands() {
		if other := []string{"completion", "help", "version"}; (cmd.GroupID == "") != slices.Contains(other, cmd.Name()) {
			t.Errorf("%s has the group %q", cmd.Name(), cmd.GroupID)
		}
	}
	grouped := make(map[string]bool)
	eachCommand(root, func(cmd *cobra.Command) {
		sections := flagSections(cmd)
		for _, s := range sections {
			for _, f := range s.flags {
				if len(sections) > 1 && (s.title == "Other flags") != (f.Name == "help") {
					t.Errorf("--%s of %s is in the group %q; see flagGroups", f.Name, cmd.CommandPath(), s.title)
				}
				grouped[f.Name] = grouped[f.Name] || len(sections) > 1
			}
		}
	})
	seen := make(map[string]bool)
	for _, g := range flagGroups {
		for _, name := range strings.Fields(g.names) {
			if !grouped[name] || seen[name] {
				t.Errorf("flagGroups has --%s, which is in another group or in no long list", name)
			}
			seen[name] = true
		}
	}
}

func TestHelp_LongWordsAndLinesAreWrapped(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "",
		"one":                  "one",
		"one two three":        "one two|three",
		"incomprehensible one": "incomprehensible|one",
		"äöüäöü ä x":           "äöüäöü ä|x",
	} {
		if got := strings.Join(wrapWords(text, 8), "|"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// The page has every command and every flag in the words of --help.
func TestDocs_CommandsPageHasTheWordsOfHelp(t *testing.T) {
	const file = "../../docs/commands.md"
	root := newRoot(Host{})
	want := commandsPage(root)
	if *updateScripts {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/commands.md differs from the help; run go test ./internal/cli -run Docs -update (-help +page):\n%s", diff)
	}
}

const pageStart = `# Commands and flags

These are the texts of ` + "`reins COMMAND --help`, written by `go test ./internal/cli -run Docs -update`" + `.
[cli.md](cli.md) describes what the commands do, their output and their exit codes.
`

func commandsPage(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(pageStart)
	for _, g := range append(root.Groups(), &cobra.Group{Title: "Other commands:"}) {
		fmt.Fprintf(&b, "\n## %s\n", strings.TrimSuffix(g.Title, ":"))
		for _, cmd := range root.Commands() {
			if cmd.GroupID == g.ID {
				eachCommand(cmd, func(cmd *cobra.Command) { describe(&b, cmd) })
			}
		}
	}
	return b.String()
}

// describe writes a command and its flags. Flags that "reins run" has too are only named.
func describe(b *strings.Builder, cmd *cobra.Command) {
	fmt.Fprintf(b, "\n### `%s`\n\n%s.\n", useLine(cmd), cmd.Short)
	var shared []string
	titled := cmd.Name() == "run"
	if n := len(ownFlags(cmd)); n > 0 && !titled {
		b.WriteString("\n| flag | |\n|---|---|\n")
	}
	for _, s := range flagSections(cmd) {
		if titled && s.title != "Other flags" {
			fmt.Fprintf(b, "\n| %s | |\n|---|---|\n", s.title)
		}
		for _, f := range s.flags {
			name, text := flagHelp(f)
			switch name = "`" + strings.TrimSpace(name) + "`"; {
			case f.Name == "help":
			case sharesWithRun(cmd, f):
				shared = append(shared, name)
			default:
				fmt.Fprintf(b, "| %s | %s |\n", name, markdown.Replace(text))
			}
		}
	}
	if len(shared) > 0 {
		fmt.Fprintf(b, "\nAs in `reins run`: %s.\n", strings.Join(shared, ", "))
	}
}

// ownFlags returns the flags of a command that need a description of their own.
func ownFlags(cmd *cobra.Command) (list []*pflag.Flag) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" && !sharesWithRun(cmd, f) {
			list = append(list, f)
		}
	})
	return list
}

var markdown = strings.NewReplacer("|", `\|`, "*", `\*`, "<", `\<`)

// sharesWithRun reports whether "reins run" has the flag with the same words.
func sharesWithRun(cmd *cobra.Command, f *pflag.Flag) bool {
	run, _, err := cmd.Root().Find([]string{"run"})
	if err != nil || run == cmd {
		return false
	}
	of := run.Flags().Lookup(f.Name)
	return of != nil && of.Usage == f.Usage && of.DefValue == f.DefValue
}
