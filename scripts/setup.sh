#!/bin/sh
# Installs missing programs that the test suite needs. It reports those that cannot be installed, and
# fails if CI=true; otherwise the tests that need them report it.
set -u

# component:command:Debian package
components='
gcc:gcc:gcc libc6-dev
git:git:git
ripgrep:rg:ripgrep
fd:fdfind:fd-find
tmux:tmux:tmux
'

sudo=
[ "$(id -u)" = 0 ] || sudo='sudo -n'
updated=
failed=

install() {
	command -v apt-get >/dev/null 2>&1 || return 1
	[ -n "$updated" ] || { $sudo apt-get update -qq >/dev/null 2>&1; updated=yes; }
	# shellcheck disable=SC2086
	DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends $1 >/dev/null 2>&1
}

IFS='
'
for line in $components; do
	IFS=:
	# shellcheck disable=SC2086
	set -- $line
	IFS='
'
	command -v "$2" >/dev/null 2>&1 && continue
	echo "installing $1"
	unset IFS
	install "$3"
	IFS='
'
	command -v "$2" >/dev/null 2>&1 || failed="$failed $1"
done

if [ -n "$failed" ]; then
	echo "could not install:$failed" >&2
	[ "${CI:-}" = true ] && exit 1
fi
exit 0
