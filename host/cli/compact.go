package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/compact"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/host/show"
	"github.com/reins-agent/reins/llm"
)

// compactAt is the share of the context window at which reins makes a conversation smaller.
const compactAt = 0.8

type compactCommand struct {
	run
	asJSON bool
}

func newCompact(h Host) *cobra.Command {
	var o compactCommand
	cmd := &cobra.Command{
		Use:               "compact [SESSION]",
		Short:             "Make the conversation of a session smaller",
		ValidArgsFunction: completeSessions(h, 1),
		Long: `Make the conversation of a session smaller, by a summary that its model writes; the user's
messages, the plan and the list of changed files stay word for word. Without a SESSION it is
the last one of this directory. The log keeps everything, so that "reins undo" and "reins
sessions show" still see it. "reins run" does this of itself when the context window is full.`,
		Example: `  reins compact
  reins compact 4TKZ --no-model     # costs nothing: old results and steps are left out`,
		Args: mostArgs(1, "at most one SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.resume = args[0]
			} else {
				o.continueLast = true
			}
			return o.do(cmd.Context(), h)
		},
	}
	o.connection.flags(cmd)
	cmd.Flags().BoolVar(&o.noModel, "no-model", false, "leave old results and steps out instead of asking the model for a summary")
	jsonFlag(cmd, &o.asJSON)
	return cmd
}

// mostArgs wants at most so many arguments.
func mostArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return usagef("\"%s\" takes %s; see \"%s --help\"", cmd.CommandPath(), what, cmd.CommandPath())
		}
		return nil
	}
}

func (o compactCommand) do(ctx context.Context, h Host) (err error) {
	place, err := o.place(ctx, h, ".", "reins compact")
	if err != nil {
		return err
	}
	o.follow(place.meta)
	s, err := o.open(ctx, h, place)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	d, err := s.Compact(ctx)
	if errors.Is(err, agent.ErrNothingToCompact) {
		return o.why(s, err)
	}
	if err != nil {
		return err
	}
	return o.print(h, s.ID(), d)
}

// why says what there is left to do if a session was not made smaller.
func (o compactCommand) why(s *agent.Session, err error) error {
	if !o.noModel && shrinksWithoutModel(s.Messages()) {
		return fmt.Errorf("session %s is too short for a summary; \"reins compact %s --no-model\" leaves old results out", s.ID(), s.ID())
	}
	return fmt.Errorf("session %s: %w", s.ID(), err)
}

// shrinksWithoutModel reports whether so much of a conversation can be left out that it is worth a
// word.
func shrinksWithoutModel(messages []llm.Message) bool {
	const worth = 100 // tokens
	var m compact.Meter
	m.Reset(messages)
	goal := compact.Goal{Tokens: m.Estimate() / 2}
	edit, ok := compact.Fallback(m, messages, goal, compact.Facts{})
	if !ok {
		edit, ok = compact.Clear(m, messages, goal)
	}
	if !ok {
		return false
	}
	after, err := edit.Apply(messages)
	return err == nil && m.Weigh(messages...)-m.Weigh(after...) >= worth
}

// open resumes the session with the tools that it had, so that the request for the summary continues
// the last one.
func (o compactCommand) open(ctx context.Context, h Host, place saved) (*agent.Session, error) {
	k, err := o.client(ctx, h, place.meta)
	if err != nil {
		return nil, err
	}
	s, err := newRunner(h, nil, o.run).session(ctx, k, place)
	return s, whyNotOpened(place.meta.ID, err)
}

// client returns the way to the model, for which a key is needed only if it will be asked.
func (o compactCommand) client(ctx context.Context, h Host, m event.Meta) (coding.Connection, error) {
	if !o.noModel {
		return o.connection.open(ctx, h)
	}
	client, err := llm.NewClient(llm.ClientConfig{Providers: []llm.Provider{silentProvider{name: m.Provider}}})
	return coding.Connection{Client: client, Provider: m.Provider, Model: m.Model}, err
}

// silentProvider stands for a provider that is not called.
type silentProvider struct {
	noModel
	name string
}

func (p silentProvider) Name() string { return p.name }

func (o compactCommand) print(h Host, id string, d event.Compaction) error {
	if o.asJSON {
		return printJSON(h.Stdout, struct {
			ID     string                 `json:"id"`
			Method event.CompactionMethod `json:"method"`
			Before int64                  `json:"tokens_before"`
			After  int64                  `json:"tokens_after"`
		}{id, d.Method, d.Before, d.After})
	}
	_, err := fmt.Fprintf(h.Stdout, "session %s: %s (%s)\n", id, show.Compacted(d), d.Method)
	return err
}
