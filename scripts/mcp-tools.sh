#!/bin/sh
# Installs the programs that the MCP tests use (see "make test-mcp") in a directory, and prints it. Programs that are
# already there are not installed again. The default directory is reins/mcp-tools in the user's cache directory.
set -eu

packages='
node@22.23.3
@modelcontextprotocol/conformance@0.1.16
@modelcontextprotocol/inspector@2.12.0
@modelcontextprotocol/server-everything@2026.8.31
@modelcontextprotocol/server-filesystem@2026.8.31
@modelcontextprotocol/server-memory@2026.8.31
'

dir=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/reins/mcp-tools}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

if [ "$(cat "$dir/installed" 2>/dev/null || true)" != "$packages" ]; then
	command -v npm >/dev/null 2>&1 || { echo "mcp-tools: npm is not installed" >&2; exit 1; }
	[ -f "$dir/package.json" ] || echo '{"private":true}' >"$dir/package.json"
	# shellcheck disable=SC2086
	npm install --prefix "$dir" --save-exact --no-audit --no-fund --loglevel=error $packages >"$dir/install.log" 2>&1 || {
		cat "$dir/install.log" >&2
		exit 1
	}
	printf '%s\n' "$packages" >"$dir/installed"
fi
echo "$dir"
