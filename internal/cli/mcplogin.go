package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/mcp"
)

func newMCPLogin(h Host) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "login NAME",
		Short: "Authorize access to an MCP server",
		Long: `Authorize access to an MCP server that uses OAuth. The command prints a URL, and
waits until you have opened it in a browser on this machine and agreed. The
token is saved in the state directory and refreshed before it expires.`,
		Args: wantArgs(1, 1, "the name of a server"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, g, err := h.remoteServer(args[0])
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			err = g.Login(ctx, s, func(url string) error {
				notef(h, "open this URL in a browser on this machine:\n%s", url)
				return nil
			})
			if err == nil {
				notef(h, "server %s is authorized", args[0])
			}
			return err
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Minute, "how long to wait for the authorization")
	return cmd
}

func newMCPLogout(h Host) *cobra.Command {
	return &cobra.Command{
		Use:   "logout NAME",
		Short: "Remove the saved authorization for an MCP server",
		Args:  wantArgs(1, 1, "the name of a server"),
		RunE: func(_ *cobra.Command, args []string) error {
			s, g, err := h.remoteServer(args[0])
			if err != nil {
				return err
			}
			had, err := g.Logout(s)
			switch {
			case err != nil:
				return err
			case !had:
				notef(h, "server %s was not authorized", args[0])
			default:
				notef(h, "removed the authorization for server %s", args[0])
			}
			return nil
		},
	}
}

// remoteServer returns a server that is reached over HTTP.
func (h Host) remoteServer(name string) (s mcp.Server, g *mcp.Grants, err error) {
	p, list, err := serversHere(h.options("."), false)
	if err != nil {
		return s, nil, err
	}
	chosen, err := choose(h, p, list, []string{name})
	if err != nil {
		return s, nil, err
	}
	if s = chosen[name]; s.URL == "" {
		return s, nil, usagef("server %s is a command; only servers with a URL use OAuth", name)
	}
	if g = h.machine().Grants(); g == nil {
		_, err = stateDir(h)
	}
	return s, g, err
}
