package cli

import (
	"context"
	"io"
	"os"
	"sync"

	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/project"
	"github.com/reins-agent/reins/secret"
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
	p, err := project.Load(ctx, h.options(dir))
	if err != nil {
		return nil, err
	}
	c := secret.Config{Vars: os.Environ(), Names: p.Settings.Secrets.Names, Patterns: p.Settings.Secrets.Patterns}
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
