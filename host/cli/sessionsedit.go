package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/host/show"
)

func newSessionsRename(h Host) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "rename ID TITLE",
		Short:             "Give a session a title, or \"\" for none",
		ValidArgsFunction: completeSessions(h, 1),
		Args:              minArgs(2, "an ID and a title"),
		RunE: func(cmd *cobra.Command, args []string) error {
			title := show.OneLine(strings.Join(args[1:], " "))
			m, err := editSession(cmd.Context(), h, args[0], func(m *event.Meta) { m.Title = title })
			if err != nil || !asJSON {
				return err
			}
			return printJSON(h.Stdout, m)
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func newSessionsTag(h Host) *cobra.Command {
	var asJSON, remove bool
	cmd := &cobra.Command{
		Use:               "tag ID TAG…",
		Short:             "Add tags to a session, or take them away",
		ValidArgsFunction: completeSessions(h, 1),
		Args:              minArgs(2, "an ID and tags"),
		RunE: func(cmd *cobra.Command, args []string) error {
			tags := args[1:]
			for _, t := range tags {
				if err := checkTag(t); err != nil {
					return err
				}
			}
			m, err := editSession(cmd.Context(), h, args[0], func(m *event.Meta) { m.Tags = changeTags(m.Tags, tags, remove) })
			switch {
			case err != nil:
				return err
			case asJSON:
				return printJSON(h.Stdout, m)
			}
			_, err = fmt.Fprintln(h.Stdout, tagText(m))
			return err
		},
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "take the tags away")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// checkTag refuses what could not be told apart from other tags, or not be typed.
func checkTag(tag string) error {
	bad := func(r rune) bool { return unicode.IsSpace(r) || r == ',' }
	if tag == "" || strings.ContainsFunc(tag, bad) || show.Visible(tag) != tag {
		return usagef("%q is no tag: it is one word, without a comma", tag)
	}
	return nil
}

func changeTags(tags, change []string, remove bool) []string {
	for _, t := range change {
		switch has := slices.Contains(tags, t); {
		case remove:
			tags = slices.DeleteFunc(tags, func(s string) bool { return s == t })
		case !has:
			tags = append(tags, t)
		}
	}
	return tags
}

// editSession changes what is known of a session.
func editSession(ctx context.Context, h Host, name string, edit func(*event.Meta)) (event.Meta, error) {
	store, err := openStore(h)
	if err != nil {
		return event.Meta{}, err
	}
	m, err := findSession(ctx, store, name)
	if err != nil {
		return m, err
	}
	w, err := store.Open(ctx, m.ID)
	if err != nil {
		return m, explain(m.ID, err)
	}
	m, err = store.Meta(ctx, m.ID) // as it is now that nobody else changes it
	if err == nil {
		edit(&m)
		err = w.SetMeta(ctx, m)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		return m, err
	}
	return store.Meta(ctx, m.ID)
}

type sessionsFork struct {
	id, title string
	damaged   bool
	asJSON    bool
}

func newSessionsFork(h Host) *cobra.Command {
	var o sessionsFork
	cmd := &cobra.Command{
		Use:               "fork ID[@SEQ]",
		Short:             "Make a new session of the first records of another",
		ValidArgsFunction: completeSessions(h, 1),
		Long: `Make a new session that has the records of another, up to the number SEQ or all of them,
and print its id. "reins sessions show ID --events" lists the numbers.`,
		Example: `  reins sessions fork K3ZQ@17 --id second-try
  reins run --resume $(reins sessions fork K3ZQ@17) "Do it without the cache"`,
		Args: exactArgs(1, "one ID, or ID@SEQ"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := emptyFlag(cmd, "id"); err != nil {
				return err
			}
			return o.run(cmd.Context(), h, args[0])
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.id, "id", "", "the id of the new session (default: a random one)")
	f.StringVar(&o.title, "title", "", "the title of the new session (default: that of the other)")
	f.BoolVar(&o.damaged, "damaged", false, "take what can be read of a session that is damaged")
	jsonFlag(cmd, &o.asJSON)
	return cmd
}

func (o sessionsFork) run(ctx context.Context, h Host, point string) error {
	store, err := openStore(h)
	if err != nil {
		return err
	}
	from, at, err := findPoint(ctx, store, point)
	if err != nil {
		return err
	}
	if o.id == "" {
		o.id = rand.Text()
	}
	fork := event.Fork
	if o.damaged {
		fork = event.Salvage
	}
	m, err := fork(ctx, store, from.ID, at, event.Meta{ID: o.id, Title: show.OneLine(o.title)})
	var corrupt *event.CorruptError
	switch {
	case errors.As(err, &corrupt):
		return fmt.Errorf("%w; --damaged takes what can be read", err)
	case err != nil:
		return explain(o.id, err)
	case o.asJSON:
		return printJSON(h.Stdout, m)
	}
	_, err = fmt.Fprintln(h.Stdout, m.ID)
	return err
}
