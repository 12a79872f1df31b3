package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/event/filestore"
)

// verified is what looking at a session found, as JSON.
type verified struct {
	ID       string    `json:"id"`
	OK       bool      `json:"ok"`
	Records  int       `json:"records"`
	Last     event.Seq `json:"last"`
	Size     int64     `json:"size"`
	Blobs    int       `json:"blobs"`
	BlobSize int64     `json:"blob_size"`
	Torn     int64     `json:"torn"`
	Problems []string  `json:"problems"`
}

func newVerified(r filestore.Report) verified {
	v := verified{r.Session, r.Clean(), r.Records, r.Last, r.Size, r.Blobs, r.BlobSize, r.Torn, []string{}}
	for _, p := range r.Problems {
		v.Problems = append(v.Problems, p.Error())
	}
	return v
}

func newSessionsVerify(h Host) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "verify [ID…]",
		Short:             "Look at every byte of sessions, and say what is damaged",
		ValidArgsFunction: completeSessions(h, -1),
		Long: `Look at every byte of sessions, or of all of them and of what is kept of files for undo, and say
what is damaged, one problem per line. It changes nothing. Exit code 1 if there is a problem.`,
		RunE: func(cmd *cobra.Command, args []string) error { return verifySessions(cmd.Context(), h, args, asJSON) },
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func verifySessions(ctx context.Context, h Host, names []string, asJSON bool) error {
	store, err := openStore(h)
	if err != nil {
		return err
	}
	ids, err := chosenSessions(ctx, store, names)
	if err != nil {
		return err
	}
	var total verified
	bad := 0
	for _, id := range ids {
		report, err := store.Verify(ctx, id)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			report.Session, report.Problems = id, append(report.Problems, err)
		}
		v := newVerified(report)
		if !v.OK {
			bad++
		}
		total.Records += v.Records
		total.Blobs += v.Blobs
		if err := v.print(h, asJSON); err != nil {
			return err
		}
	}
	var kept keptVerified
	if len(names) == 0 {
		if err := kept.run(ctx, h, asJSON); err != nil {
			return err
		}
	}
	if bad > 0 {
		aside(h, "%s of %d damaged", plural(bad, "session"), len(ids))
	}
	if kept.bad > 0 {
		aside(h, "what is kept for undo of %s is damaged: undo cannot bring all of it back; everything else works", plural(kept.bad, "workspace"))
	}
	if bad > 0 || kept.bad > 0 {
		return quietError{exitFailed}
	}
	if !asJSON {
		_, err = fmt.Fprintf(h.Stdout, "%s, %s and %s%s: no problems\n", plural(len(ids), "session"), plural(total.Records, "record"), plural(total.Blobs, "blob"), kept)
	}
	return err
}

func (v verified) print(h Host, asJSON bool) error {
	if asJSON {
		return printJSON(h.Stdout, v)
	}
	for _, p := range v.Problems {
		if _, err := fmt.Fprintf(h.Stdout, "%s: %s\n", v.ID, inLine(p)); err != nil {
			return err
		}
	}
	return nil
}

// chosenSessions are the ids of the sessions that are named, or of all if none is. One that nothing
// is known about is among them.
func chosenSessions(ctx context.Context, s event.Store, names []string) (ids []string, err error) {
	for _, name := range names {
		m, err := findSession(ctx, s, name)
		if err != nil && m.ID == "" {
			return nil, err
		}
		ids = append(ids, m.ID)
	}
	if len(names) > 0 {
		return ids, nil
	}
	for m, err := range s.List(ctx) {
		if m.ID == "" {
			return nil, err
		}
		ids = append(ids, m.ID)
	}
	return ids, nil
}
