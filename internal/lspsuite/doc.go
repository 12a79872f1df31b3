// Package lspsuite tests the client of language servers with real ones: gopls, typescript-language-server, pyright and
// clangd. "make test-lsp" installs and runs them.
package lspsuite
