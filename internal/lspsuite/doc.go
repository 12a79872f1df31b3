// Package lspsuite tests the language server client with real servers: gopls, typescript-language-server, pyright and
// clangd. "make test-lsp" installs and runs them.
package lspsuite
