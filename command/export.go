package command

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/reins-agent/reins/session"
)

// within returns a path in a directory, unless it is absolute.
func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// runExport writes an archive. It does not replace a file.
func runExport(ctx context.Context, t Target, args string) (session.Result, error) {
	i, err := t.Info(ctx)
	if err != nil {
		return session.Result{}, err
	}
	path := args
	if path == "" {
		path = i.ID + ".tar"
	}
	path = within(i.Dir, path)
	if err := export(ctx, t.Sessions, i.ID, path); err != nil {
		return session.Result{}, err
	}
	return session.Result{Text: "Exported to " + path + "."}, nil
}

// Exporter exports sessions. A [session.Manager] implements it.
type Exporter interface {
	Export(ctx context.Context, o session.ExportOptions, out io.Writer) error
}

// Export writes a session to a new file in a directory, without known secrets, and returns its path. It does not replace
// a file.
func Export(ctx context.Context, s Exporter, id, dir string) (path string, err error) {
	path = within(dir, id+".tar")
	return path, export(ctx, s, id, path)
}

func export(ctx context.Context, s Exporter, id, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(s.Export(ctx, session.ExportOptions{Session: id}, f), f.Close())
	if err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
