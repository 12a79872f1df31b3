package feature

import (
	"context"
	"fmt"

	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/internal/lsp"
	"github.com/reins-agent/reins/internal/lsptools"
)

// LSPConfig configures language servers.
type LSPConfig = lsptools.Config

// serversKey identifies what sessions must have in common to share language servers.
type serversKey struct {
	env      any
	settings string
}

// LanguageServers adds the tools that use language servers, and diagnostics after edits. It has no effect unless the
// configuration enables it.
func LanguageServers(c LSPConfig) coding.Extension {
	return func(_ context.Context, h *coding.Host) (coding.Feature, error) {
		if !c.Enabled {
			return coding.Feature{}, nil
		}
		key := serversKey{h.EnvKey, fmt.Sprintf("%+v", []any{c, h.Trusted})}
		w := lsp.Open(key, h.Env, lsp.Config{Servers: c.Servers(), Trusted: h.Trusted})
		t := lsptools.New(w, c, h.Files)
		return coding.Feature{Tools: t.All(), Middleware: t.Diagnose, Close: w.Close}, nil
	}
}
