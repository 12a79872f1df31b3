package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/compact"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/llm"
)

// compactAt is the share of the context window at which "reins run" compacts a conversation.
const compactAt = 0.8

type compactCommand struct {
	run
	asJSON bool
}

func newCompact(h Host) *cobra.Command {
	var o compactCommand
	cmd := &cobra.Command{
		Use:               "compact [SESSION]",
		Short:             "Compact the conversation of a session",
		ValidArgsFunction: completeSessions(h, 1),
		Long: `Compact the conversation of a session: the model summarizes the older part. Your
messages, the plan and the list of changed files are kept word for word, and the
session log keeps everything. "reins run" compacts automatically when the
context window is nearly full.

Without SESSION, use the last session of this directory.`,
		Example: `  reins compact
  reins compact 4TKZ --no-model`,
		Args: wantArgs(0, 1, "at most one SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.resume = args[0]
			} else {
				o.continueLast = true
			}
			return o.do(cmd.Context(), h)
		},
	}
	o.connection.flags(h, cmd)
	cmd.Flags().BoolVar(&o.noModel, "no-model", false, "drop old tool results and steps instead of asking the model for a summary")
	jsonFlag(cmd, &o.asJSON)
	return cmd
}

func (o compactCommand) do(ctx context.Context, h Host) (err error) {
	place, err := o.place(ctx, h, ".", "reins compact")
	if err != nil {
		return err
	}
	if err := o.prepare(h, place); err != nil {
		return err
	}
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

// prepare configures the session as "reins run" does, so that the request for the summary has the same instructions,
// tools and effort as the requests before.
func (o *compactCommand) prepare(h Host, place saved) (err error) {
	if o.dir, err = place.dir(""); err != nil {
		return err
	}
	return o.configure(h, place.meta)
}

// why explains why a session was not compacted.
func (o compactCommand) why(s *agent.Session, err error) error {
	if !o.noModel && shrinksWithoutModel(s.Messages()) {
		return fmt.Errorf(
			"session %s is too short to summarize; run \"reins compact %s --no-model\" to drop old tool results",
			s.ID(), s.ID(),
		)
	}
	return fmt.Errorf("session %s: %w", s.ID(), err)
}

// shrinksWithoutModel reports whether --no-model would make a conversation noticeably smaller.
func shrinksWithoutModel(messages []llm.Message) bool {
	const minimum = 100 // tokens
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
	return err == nil && m.Weigh(messages...)-m.Weigh(after...) >= minimum
}

// open resumes the session with its tools, so that the summary request extends the session's last request. With
// --no-model it needs no key.
func (o compactCommand) open(ctx context.Context, h Host, place saved) (*agent.Session, error) {
	r := newOpener(h, o.run)
	r.alone = r.asker.unattended()
	r.place = place
	if o.noModel {
		r.flags.noMCP = true
		client, err := llm.NewClient(llm.ClientConfig{Providers: []llm.Provider{silentProvider{name: place.meta.Provider}}})
		if err != nil {
			return nil, err
		}
		r.model = coding.Connection{Client: client, Provider: place.meta.Provider, Model: place.meta.Model}
	}
	s, err := r.session(ctx, place)
	if err != nil {
		return nil, explainOpen(place.meta.ID, err)
	}
	return s.Agent(), nil
}

// silentProvider is a provider that is never called.
type silentProvider struct{ name string }

func (p silentProvider) Name() string { return p.name }

func (p silentProvider) Stream(context.Context, *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	return func(yield func(llm.StreamEvent, error) bool) {
		yield(nil, errors.New("the session was opened without a model"))
	}
}

func (o compactCommand) print(h Host, id string, d event.Compaction) error {
	if o.asJSON {
		return printJSON(h.Stdout, struct {
			ID     string                 `json:"id"`
			Method event.CompactionMethod `json:"method"`
			Before int64                  `json:"tokens_before"`
			After  int64                  `json:"tokens_after"`
		}{id, d.Method, d.Before, d.After})
	}
	_, err := fmt.Fprintf(h.Stdout, "session %s: %s (%s)\n", id, show.Compacted(d), show.Method(d.Method))
	return err
}
