package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/hook"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/project"
)

func newHooks(h Host) *cobra.Command {
	return group(&cobra.Command{Use: "hooks", Short: "List and test hooks"}, newHooksList(h), newHooksTest(h))
}

// hookJSON is a hook as JSON.
type hookJSON struct {
	Event   hook.Event    `json:"event"`
	Matcher string        `json:"matcher"`
	Command string        `json:"command"`
	Name    string        `json:"name"`
	Timeout float64       `json:"timeout,omitempty"` // seconds
	OnError hook.OnError  `json:"on_error,omitempty"`
	Origin  config.Origin `json:"origin"`
	Active  bool          `json:"active"`
	Reason  string        `json:"reason,omitempty"` // why it is not
}

func newHooksList(h Host) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the active and inactive hooks for this project",
		Args:  wantArgs(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			list, err := h.allHooks()
			if err != nil {
				return err
			}
			t := &show.Table{
				Columns: []show.Column{
					{Title: "EVENT", Colour: show.Cyan},
					{Title: "MATCHER"},
					{Title: "COMMAND"},
					{Title: "FROM"},
					{Title: "STATE"},
				},
			}
			for _, f := range list {
				f.Command, f.Name = wire.Redact(f.Command), wire.Redact(f.Name)
				if asJSON {
					j := hookJSON{
						f.Event,
						f.Matcher,
						f.Command,
						f.Name,
						f.Timeout.Seconds(),
						f.OnError,
						f.Origin,
						f.Inactive == "",
						f.Inactive,
					}
					if err := printJSON(h.Stdout, j); err != nil {
						return err
					}
					continue
				}
				f.Origin.Name = shortDir(h, f.Origin.Name)
				t.Add(
					string(f.Event),
					f.Matcher,
					f.Command,
					f.Origin.String(),
					strings.TrimSuffix(map[bool]string{true: "active", false: "inactive: "}[f.Inactive == ""]+f.Inactive, ": "),
				)
			}
			if asJSON {
				return nil
			}
			return printList(h, t, "no hooks")
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// allHooks lists the hooks for the current directory, including hooks that trusting the project would enable.
func (h Host) allHooks() ([]project.Hook, error) {
	o := h.options(".")
	o.Trust, o.Note = project.TrustYes, nil
	p, err := project.Load(context.Background(), o)
	if err != nil {
		return nil, err
	}
	p.Trusted = h.trusted(".")
	return p.AllHooks()
}
