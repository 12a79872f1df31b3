#!/bin/sh
# Builds Ollama from its Go module into the user's cache directory and prints the path of the program. If it is
# already there, nothing is built.
set -eu

version=v0.17.4
audio=v0.11.24 # of malgo, which has the header miniaudio.h
cache=${XDG_CACHE_HOME:-$HOME/.cache}/reins/ollama-$version

if [ -x "$cache/ollama" ]; then
	echo "$cache/ollama"
	exit
fi
echo "building Ollama $version in $cache; this takes about 7 minutes of CPU time, once" >&2

# run runs a command quietly, and shows its output if it fails.
run() {
	"$@" >"$cache/log" 2>&1 || {
		cat "$cache/log" >&2
		echo "cannot build Ollama: $1 failed" >&2
		exit 1
	}
}

# module downloads a module and prints its directory.
module() {
	GOWORK=off go mod download -json "$1" | sed -n 's/^\t"Dir": "\(.*\)",*$/\1/p'
}

# The path of the source is always the same, so that a build that was interrupted continues.
source=$cache/source
mkdir -p "$cache"
rm -rf "$source"
cp -R "$(module "github.com/ollama/ollama@$version")" "$source"
chmod -R u+w "$source"

# Headers that the module does not contain.
if [ ! -e /usr/include/nlohmann/json.hpp ] || [ ! -e /usr/include/stb/stb_image.h ]; then
	sudo=
	[ "$(id -u)" = 0 ] || sudo='sudo -n'
	run $sudo apt-get update -qq
	run $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gcc g++ nlohmann-json3-dev libstb-dev
fi
mkdir -p "$source/include/miniaudio"
cp "$(module "github.com/gen2brain/malgo@$audio")/miniaudio.h" "$source/include/miniaudio/"

cd "$source"
# Without -march=native: with AMX, it compiles calls of a function that the module does not contain.
export CGO_ENABLED=1 CGO_CPPFLAGS="-I$source/include" CGO_CFLAGS='-O2 -w' CGO_CXXFLAGS='-O2 -w' GOWORK=off
run nice -n 10 go build -trimpath -ldflags "-X=github.com/ollama/ollama/version.Version=${version#v}" -o ollama.new .
mv ollama.new "$cache/ollama"
rm -rf "$source"
echo "$cache/ollama"
