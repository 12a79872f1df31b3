package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/internal/show"
)

// writeManPages writes a manual page for each command into a directory. They have the texts of --help.
func writeManPages(root *cobra.Command, dir string) (n int, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	var each func(cmd *cobra.Command) error
	each = func(cmd *cobra.Command) error {
		if cmd.Hidden {
			return nil
		}
		name := manName(cmd) + ".1"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(manPage(cmd)), 0o644); err != nil {
			return err
		}
		n++
		for _, sub := range cmd.Commands() {
			if err := each(sub); err != nil {
				return err
			}
		}
		return nil
	}
	return n, each(root)
}

func reportManPages(cmd *cobra.Command, dir string) error {
	n, err := writeManPages(cmd.Root(), dir)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "wrote %d manual pages to %s\n", n, show.OneLine(dir))
	return err
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage returns the manual page of a command.
func manPage(cmd *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"reins %s\" \"Reins Manual\"\n", roff(strings.ToUpper(manName(cmd))), roff(version()))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(manName(cmd)), roff(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n%s\n", roff(useLine(cmd)))
	if cmd.Long != "" {
		b.WriteString(".SH DESCRIPTION\n")
		for i, paragraph := range strings.Split(cmd.Long, "\n\n") {
			if i > 0 {
				b.WriteString(".PP\n")
			}
			b.WriteString(roff(paragraph) + "\n")
		}
	}
	manCommands(&b, cmd)
	for _, s := range flagSections(cmd) {
		fmt.Fprintf(&b, ".SH %s\n", roff(strings.ToUpper(s.title)))
		for _, f := range s.flags {
			name, text := flagHelp(f)
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(name)), roff(text))
		}
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(cmd.Example))
	}
	if cmd.HasParent() {
		fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", roff(manName(cmd.Parent())))
	}
	return b.String()
}

func manCommands(b *strings.Builder, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	b.WriteString(".SH COMMANDS\n")
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			fmt.Fprintf(b, ".TP\n.BR %s (1)\n%s\n", roff(manName(sub)), roff(sub.Short))
		}
	}
}

var roffEscapes = strings.NewReplacer(`\`, `\e`, "-", `\-`)

// roff returns a text that has no meaning as a request.
func roff(text string) string {
	lines := strings.Split(roffEscapes.Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
