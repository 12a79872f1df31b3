package cli

import (
	"time"

	"github.com/reins-agent/reins/coding/feature"
	"github.com/reins-agent/reins/config"
)

// languageServers returns the configuration of language servers. The demo has no configuration and uses no language
// servers.
func languageServers(s *config.Settings) (c feature.LSPConfig, err error) {
	if s == nil || !s.LSP.Enabled {
		return c, nil
	}
	c.Enabled = true
	if c.Timeout, err = time.ParseDuration(s.LSP.DiagnosticsTimeout); err != nil {
		return c, usagef("lsp.diagnostics_timeout: %w", err)
	}
	c.Commands = map[string]string{
		"gopls": s.LSP.Gopls, "typescript-language-server": s.LSP.TypeScript, "pyright-langserver": s.LSP.Pyright,
		"rust-analyzer": s.LSP.RustAnalyzer, "clangd": s.LSP.Clangd,
	}
	return c, nil
}
