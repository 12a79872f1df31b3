package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/project"
)

// launcher returns a function that asks whether a server may leave the sandbox, or nil if there is nobody to ask.
func (a *asker) launcher(ctx context.Context) project.AskToLeave {
	if a.unattended() {
		return nil
	}
	return func(f project.Server, program string) (bool, error) {
		a.asking.Lock()
		defer a.asking.Unlock()
		line, err := a.ask(ctx, fmt.Sprintf("\nMCP server %s (%s) is started by %s, which does not work in the sandbox:\n  %s\n"+
			"Run it outside the sandbox, now and in later runs in this project? [y]es, [n]o > ",
			show.OneLine(f.Name), shortDir(a.host, f.Origin.Name), program, f.Command()))
		return strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), "y"), err
	}
}

// newMCPAllow returns the command that records an answer of the user about servers, for this project.
func newMCPAllow(h Host, use, short string, allowed bool) *cobra.Command {
	return &cobra.Command{
		Use:   use + " NAME...",
		Short: short,
		Long: short + `, for this project.
This is for servers that npx, uvx, docker and similar programs start, which need
more than the sandbox permits. The decision applies to the server's current
command. If the command changes, Reins asks again.`,
		Args: wantArgs(1, anyNumber, "names of servers"),
		RunE: func(_ *cobra.Command, args []string) error {
			p, list, err := serversHere(h.options("."), false)
			if err != nil {
				return err
			}
			if _, err := choose(h, p, list, args); err != nil {
				return err
			}
			for _, f := range list {
				if !slices.Contains(args, f.Name) || f.Inactive != "" && f.Inactive != "disabled" {
					continue
				}
				if name, _ := f.Launcher(); name == "" && allowed {
					return usagef(
						"server %s is not started by a program such as npx or docker; use --unconfined in \"reins mcp add\"",
						f.Name,
					)
				}
				if err := p.AllowServer(f, allowed); err != nil {
					return err
				}
				notef(
					h,
					"%s in this project: %s",
					map[bool]string{true: "runs outside the sandbox", false: "is not used"}[allowed],
					f.Command(),
				)
			}
			return nil
		},
	}
}
