package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/event/filestore"
	"github.com/reins-agent/reins/secret"
	"github.com/reins-agent/reins/tool"
)

// hostSecrets redacts the program's own messages: known formats of secrets, and the values of environment variables.
var hostSecrets = sync.OnceValue(func() *secret.Redactor {
	r, err := secret.New(context.Background(), secret.Config{Vars: os.Environ()})
	if err != nil {
		panic(err) // only names and patterns can be invalid
	}
	return r
})

// redacted returns a writer that redacts each write.
func redacted(out io.Writer) io.Writer { return redactingWriter{out} }

type redactingWriter struct{ out io.Writer }

func (w redactingWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.out, hostSecrets().Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// sessionSecrets returns the redactor for a session. It uses the .env files in the session's directory, and the names
// and patterns in the configuration.
func sessionSecrets(ctx context.Context, h Host, dir string) (*secret.Redactor, error) {
	s, err := h.settings(dir, trusts(h, dir), nil)
	if err != nil {
		return nil, err
	}
	c := secretConfig(s)
	if e, err := local.New(local.Config{Dir: dir}); err == nil { // without the directory there are no files
		defer e.Close()
		c.Env = e
	}
	r, err := secret.New(ctx, c)
	if err != nil {
		return nil, usageError{err}
	}
	r.Refresh(ctx)
	return r, nil
}

// secretConfig returns the configuration of secrets.
func secretConfig(s *config.Settings) secret.Config {
	return secret.Config{Vars: os.Environ(), Names: s.Secrets.Names, Patterns: s.Secrets.Patterns}
}

// exportRedacted exports a copy of a session without secrets.
func exportRedacted(ctx context.Context, h Host, from event.Store, m event.Meta, out io.Writer) (err error) {
	secrets, err := sessionSecrets(ctx, h, m.Dir)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "reins-export-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	to, err := filestore.New(filestore.Config{Dir: dir})
	if err != nil {
		return err
	}
	if err := copyRedacted(ctx, secrets, from, to, m); err != nil {
		return fmt.Errorf("cannot redact session %s: %w; use --no-redact to export it with its secrets", m.ID, err)
	}
	return to.Export(ctx, m.ID, out)
}

// copyRedacted copies a session to another store.
func copyRedacted(ctx context.Context, secrets *secret.Redactor, from, to event.Store, m event.Meta) (err error) {
	for _, text := range []*string{&m.Title, &m.Prompt, &m.Summary, &m.Branch} {
		*text = secrets.Text(*text)
	}
	w, err := to.Create(ctx, m)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	batch := make([]event.Record, 0, 64)
	for r, err := range event.Read(ctx, from, m.ID, 0) {
		if err == nil {
			r, err = redactRecord(secrets, r)
		}
		if batch = append(batch, r); err == nil && len(batch) == cap(batch) {
			err = event.Save(ctx, w, batch...)
			batch = batch[:0]
		}
		if err != nil {
			return err
		}
	}
	if err := event.Save(ctx, w, batch...); err != nil {
		return err
	}
	return w.SetMeta(ctx, m)
}

// redactRecord redacts all texts in a record.
func redactRecord(secrets *secret.Redactor, r event.Record) (event.Record, error) {
	end, isEnd := r.Data.(event.ToolCallEnd)
	if isEnd { // the output may be large
		short := end
		short.Output, short.OutputBlob = nil, nil
		r.Data = short
	}
	b, err := r.MarshalJSON()
	if err != nil {
		return r, err
	}
	var out event.Record
	if err := out.UnmarshalJSON(secrets.Strings(b)); err != nil {
		return r, err
	}
	if isEnd {
		short := out.Data.(event.ToolCallEnd)
		short.Output = tool.Redact(secrets, end.Output)
		out.Data = short
	}
	return out, nil
}
