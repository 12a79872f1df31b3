#!/bin/sh
# Installs the Portkey gateway from npm into the user's cache directory and prints the path of its program. If it is
# already there, nothing is installed. It takes 20 seconds and 25 MB.
set -eu

version=1.15.2
cache=${XDG_CACHE_HOME:-$HOME/.cache}/reins/portkey-$version
program=node_modules/@portkey-ai/gateway/build/start-server.js

if [ ! -e "$cache/$program" ]; then
	echo "installing the Portkey gateway $version in $cache" >&2
	mkdir -p "$cache"
	work=$(mktemp -d "$cache/XXXXXX")
	npm install --prefix "$work" --silent --no-audit --no-fund --ignore-scripts "@portkey-ai/gateway@$version" >&2
	mv "$work/node_modules" "$cache/"
	rm -rf "$work"
fi
echo "$cache/$program"
