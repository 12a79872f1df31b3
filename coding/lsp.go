package coding

import (
	"context"
	"fmt"
	"io"

	"github.com/reins-agent/reins/internal/lsp"
	"github.com/reins-agent/reins/internal/lsptools"
)

// LSPConfig configures the use of language servers; see package lang.
type LSPConfig = lsptools.Config

// serversKey identifies what sessions must have in common to share language servers.
type serversKey struct{ dir, settings string }

// languageServers adds the tools that use language servers.
func (b *builder) languageServers(ctx context.Context) error {
	c := &b.config
	if !c.LSP.Enabled {
		return nil
	}
	e := b.session.Env
	key := any(e)
	if c.Session.Env == nil { // Open made it from these settings
		dir, err := e.RealPath(ctx, e.Info().Dir)
		if err != nil {
			return err
		}
		key = serversKey{dir, fmt.Sprintf("%+v", []any{c.Sandbox, c.Vars, c.Pass, c.LSP, c.Prompt.Trusted})}
	}
	w := lsp.Open(key, e, lsp.Config{Servers: c.LSP.Servers(), Trusted: c.Prompt.Trusted})
	b.made = append([]io.Closer{w}, b.made...) // closed before the environment
	t := lsptools.New(w, c.LSP, c.ToolConfig)
	c.Tools = append(c.Tools[:len(c.Tools):len(c.Tools)], t.All()...)
	b.session.Middleware = append(b.session.Middleware[:len(b.session.Middleware):len(b.session.Middleware)], t.Diagnose)
	return nil
}
