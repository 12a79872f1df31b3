package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/event/filestore"
)

type sessionsExport struct {
	force  bool
	asJSON bool
}

// exported is what the export of a session prints as JSON.
type exported struct {
	ID   string `json:"id"`
	File string `json:"file"`
	Size int64  `json:"size"`
}

func newSessionsExport(h Host) *cobra.Command {
	var o sessionsExport
	cmd := &cobra.Command{
		Use:               "export ID FILE|-",
		Short:             "Write a session, with all that belongs to it, as one file",
		ValidArgsFunction: completeSessions(h, 1),
		Long: `Write a session, with all that belongs to it, as one file: a tar archive, which
"reins sessions import" reads. It holds everything that was said: mind whom you give it to.`,
		Example: `  reins sessions export K3ZQ session.tar
  reins sessions export K3ZQ - | ssh other reins sessions import -`,
		Args: exactArgs(2, "an ID and a file, or - for standard output"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), h, args[0], args[1]) },
	}
	cmd.Flags().BoolVar(&o.force, "force", false, "replace a file that is there")
	jsonFlag(cmd, &o.asJSON)
	return cmd
}

func (o sessionsExport) run(ctx context.Context, h Host, name, file string) error {
	switch {
	case file == "-" && o.asJSON:
		return usagef("--json has no place to print to: standard output is for the archive")
	case file == "-" && isTerminal(h.Stdout):
		return usagef("refusing to write an archive to a terminal: name a file")
	}
	store, err := openStore(h)
	if err != nil {
		return err
	}
	m, err := findSession(ctx, store, name)
	if err != nil {
		return err
	}
	if file == "-" {
		return store.Export(ctx, m.ID, h.Stdout)
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return usagef("%s is a directory; name a file in it: %s", file, filepath.Join(file, m.ID+".tar"))
	}
	size, err := o.write(file, func(w io.Writer) error { return store.Export(ctx, m.ID, w) })
	if err != nil {
		return err
	}
	if o.asJSON {
		return printJSON(h.Stdout, exported{m.ID, file, size})
	}
	aside(h, "session %s is in %s", m.ID, file)
	return nil
}

// write makes a file that is there when it is whole, and not before.
func (o sessionsExport) write(name string, fill func(io.Writer) error) (size int64, err error) {
	if _, err := os.Lstat(name); err == nil && !o.force {
		return 0, usagef("the file %s is there already; --force replaces it", name)
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".reins-export-*")
	if err != nil {
		return 0, usagef("the file %s cannot be written: %w", name, err)
	}
	out := bufio.NewWriter(f)
	err = fill(out)
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		size, err = f.Seek(0, io.SeekCurrent)
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return 0, errors.Join(err, os.Remove(f.Name()))
	}
	return size, nil
}

// interruptible reads from in until ctx ends, also while nothing comes.
func interruptible(ctx context.Context, in io.Reader) *io.PipeReader {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, in)
		w.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { w.CloseWithError(context.Cause(ctx)) })
	return r
}

type sessionsImport struct {
	id      string
	damaged bool
	asJSON  bool
}

func newSessionsImport(h Host) *cobra.Command {
	var o sessionsImport
	cmd := &cobra.Command{
		Use:   "import FILE|-",
		Short: "Add a session from a file that \"sessions export\" wrote",
		Args:  exactArgs(1, "one file, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := emptyFlag(cmd, "id"); err != nil {
				return err
			}
			return o.run(cmd.Context(), h, args[0])
		},
	}
	cmd.Flags().StringVar(&o.id, "id", "", "the id of the session here (default: the one that it had)")
	cmd.Flags().BoolVar(&o.damaged, "damaged", false, "take an archive that is damaged as it is")
	jsonFlag(cmd, &o.asJSON)
	return cmd
}

func (o sessionsImport) run(ctx context.Context, h Host, file string) error {
	store, err := openStore(h)
	if err != nil {
		return err
	}
	in := h.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return usageError{err}
		}
		defer f.Close()
		in = f
	}
	archive := interruptible(ctx, in)
	defer archive.Close()
	report, err := store.Import(ctx, archive, filestore.Import{ID: o.id, Damaged: o.damaged})
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, event.ErrExists), errors.Is(err, event.ErrBadID), errors.Is(err, event.ErrLocked):
		return usagef("%w; choose another id with --id", err)
	case err != nil && !report.Clean():
		return fmt.Errorf("%w; --damaged takes it as it is", err)
	case err != nil:
		return err
	}
	for _, p := range report.Problems {
		aside(h, "%s: %v", report.Session, p)
	}
	if o.asJSON {
		return printJSON(h.Stdout, newVerified(report))
	}
	_, err = fmt.Fprintln(h.Stdout, report.Session)
	return err
}
