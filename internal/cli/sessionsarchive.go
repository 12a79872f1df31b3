package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/event/filestore"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/session"
)

type sessionsExport struct {
	force    bool
	noRedact bool
	asJSON   bool
}

// exported reports an export as JSON.
type exported struct {
	ID   string `json:"id"`
	File string `json:"file"`
	Size int64  `json:"size"`
}

func newSessionsExport(h Host) *cobra.Command {
	var o sessionsExport
	cmd := &cobra.Command{
		Use:               "export ID FILE|-",
		Short:             "Export a session to a file",
		ValidArgsFunction: completeSessions(h, 1),
		Long: `Export a session to a tar archive for "reins sessions import". The archive holds
the whole conversation. Known secrets in it are replaced by placeholders such as
[redacted:github-token].`,
		Example: `  reins sessions export K3ZQ session.tar
  reins sessions export K3ZQ - | ssh other reins sessions import -`,
		Args: wantArgs(2, 2, "an ID and a file, or - for standard output"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), h, args[0], args[1]) },
	}
	cmd.Flags().BoolVar(&o.force, "force", false, "replace an existing file")
	cmd.Flags().BoolVar(&o.noRedact, "no-redact", false, "export the session as it is, including secrets")
	jsonFlag(cmd, &o.asJSON)
	return cmd
}

func (o sessionsExport) run(ctx context.Context, h Host, name, file string) error {
	switch {
	case file == "-" && o.asJSON:
		return usagef("--json cannot be combined with -, which writes the archive to standard output")
	case file == "-" && isTerminal(h.Stdout):
		return usagef("refusing to write an archive to a terminal: give a file")
	}
	sessions, err := openSessions(h)
	if err != nil {
		return err
	}
	m, err := sessions.Find(ctx, name)
	if err != nil {
		return explain(err)
	}
	export := func(w io.Writer) error {
		err := sessions.Export(ctx, session.ExportOptions{Session: m.ID, Secrets: o.noRedact}, w)
		if failed, ok := errors.AsType[*session.RedactError](err); ok {
			return fmt.Errorf("%w; use --no-redact to export it with its secrets", failed)
		}
		return err
	}
	if file == "-" {
		return export(h.Stdout)
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return usagef("%s is a directory: give a file, such as %s", file, filepath.Join(file, m.ID+".tar"))
	}
	size, err := o.write(file, export)
	if err != nil {
		return err
	}
	if o.asJSON {
		return printJSON(h.Stdout, exported{m.ID, file, size})
	}
	notef(h, "exported session %s to %s", m.ID, file)
	return nil
}

// write creates a file atomically.
func (o sessionsExport) write(name string, fill func(io.Writer) error) (size int64, err error) {
	if _, err := os.Lstat(name); err == nil && !o.force {
		return 0, usagef("%s already exists; use --force to replace it", name)
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".reins-export-*")
	if err != nil {
		return 0, usagef("cannot write %s: %w", name, err)
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

// interruptible returns a reader that reads from in and fails when ctx ends, even while a read blocks.
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
	maxSize int64 // in MiB
	asJSON  bool
}

func newSessionsImport(h Host) *cobra.Command {
	var o sessionsImport
	cmd := &cobra.Command{
		Use:   "import FILE|-",
		Short: "Import a session from a file",
		Long: `Import a session that "reins sessions export" wrote, and print its ID.

"latest" and --continue do not choose an imported session until you have
continued it by its ID. It then gets a new system prompt, and its earlier
approvals are ignored.`,
		Args: wantArgs(1, 1, "one file, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := emptyFlag(cmd, "id"); err != nil {
				return err
			}
			if o.maxSize <= 0 || o.maxSize > math.MaxInt64>>20 {
				return usagef("--max-size must be a positive number of MiB")
			}
			return o.run(cmd.Context(), h, args[0])
		},
	}
	cmd.Flags().StringVar(&o.id, "id", "", "use `ID` for the session (default: its original ID)")
	cmd.Flags().BoolVar(&o.damaged, "damaged", false, "import a damaged archive as it is")
	cmd.Flags().Int64Var(&o.maxSize, "max-size", filestore.DefaultMaxSize>>20, "maximum size of the archive in `MiB`")
	jsonFlag(cmd, &o.asJSON)
	return cmd
}

func (o sessionsImport) run(ctx context.Context, h Host, file string) error {
	sessions, err := openSessions(h)
	if err != nil {
		return err
	}
	in, from := h.Stdin, "standard input"
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return usageError{err}
		}
		defer f.Close()
		in, from = f, file
	}
	archive := interruptible(ctx, in)
	defer archive.Close()
	report, err := sessions.Import(ctx, archive, session.ImportOptions{ID: o.id, Damaged: o.damaged, MaxSize: o.maxSize << 20})
	if err != nil {
		err = fmt.Errorf("%s: %w", from, err)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, filestore.ErrTooLarge):
		return usagef("%w: it has more than %d MiB; raise the limit with --max-size", err, o.maxSize)
	case errors.Is(err, event.ErrExists), errors.Is(err, event.ErrBadID), errors.Is(err, event.ErrLocked):
		return usagef("%w; choose another ID with --id", err)
	case err != nil && len(report.Problems) > 0:
		return fmt.Errorf("%w; use --damaged to import it anyway", err)
	case err != nil:
		return err
	}
	for _, p := range report.Problems {
		notef(h, "%s: %s", report.ID, p)
	}
	if o.asJSON {
		return printJSON(h.Stdout, report)
	}
	_, err = fmt.Fprintln(h.Stdout, report.ID)
	return err
}

func newSessionsVerify(h Host) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "verify [ID...]",
		Short:             "Check sessions for corruption",
		ValidArgsFunction: completeSessions(h, anyNumber),
		Long: `Check sessions for corruption, and print one problem per line. Without IDs,
check all sessions and all checkpoints for undo. Nothing is changed. The exit
code is 1 if there are problems.`,
		RunE: func(cmd *cobra.Command, args []string) error { return verifySessions(cmd.Context(), h, args, asJSON) },
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func verifySessions(ctx context.Context, h Host, names []string, asJSON bool) error {
	sessions, err := openSessions(h)
	if err != nil {
		return err
	}
	all, bad, records, blobs := 0, 0, 0, 0
	for v, err := range sessions.Verify(ctx, names...) {
		if err != nil {
			return explain(err)
		}
		if all++; !v.OK {
			bad++
		}
		records, blobs = records+v.Records, blobs+v.Blobs
		if err := printProblems(h, v.ID, v.Problems, v, asJSON); err != nil {
			return err
		}
	}
	stores, badStores := 0, 0
	if len(names) == 0 {
		if stores, badStores, err = verifyCheckpoints(ctx, h, sessions, asJSON); err != nil {
			return err
		}
	}
	if bad > 0 {
		notef(h, "%d of %s damaged", bad, show.Plural(all, "session"))
	}
	if badStores > 0 {
		notef(h, "%d of %s damaged: undo cannot restore everything, but sessions work", badStores, show.Plural(stores, "checkpoint store"))
	}
	if bad > 0 || badStores > 0 || asJSON {
		return failIf(bad > 0 || badStores > 0)
	}
	summary := []string{show.Plural(all, "session"), show.Plural(records, "record"), show.Plural(blobs, "blob")}
	if stores > 0 {
		summary = append(summary, show.Plural(stores, "checkpoint store"))
	}
	_, err = fmt.Fprintf(h.Stdout, "%s: no problems\n", strings.Join(summary, ", "))
	return err
}

// verifyCheckpoints checks the checkpoints of all directories. It returns how many stores there are, and how many are
// damaged.
func verifyCheckpoints(ctx context.Context, h Host, sessions *session.Manager, asJSON bool) (all, bad int, err error) {
	for v, err := range sessions.VerifyCheckpoints(ctx) {
		if err != nil {
			return all, bad, err
		}
		if all++; !v.OK {
			bad++
		}
		if err := printProblems(h, "checkpoints/"+v.Checkpoints, v.Problems, v, asJSON); err != nil {
			return all, bad, err
		}
	}
	return all, bad, nil
}

// printProblems prints a report as JSON, or the problems in it.
func printProblems(h Host, name string, problems []string, report any, asJSON bool) error {
	if asJSON {
		return printJSON(h.Stdout, report)
	}
	for _, p := range problems {
		if _, err := fmt.Fprintf(h.Stdout, "%s: %s\n", name, show.OneLine(p)); err != nil {
			return err
		}
	}
	return nil
}
