#!/bin/sh
# Installs what the test suite needs and the machine lacks. A component that cannot be installed
# is named; with CI=true that is a failure, elsewhere the tests that need it say so themselves.
set -u

# component:command:Debian package
components='
gcc:gcc:gcc libc6-dev
git:git:git
ripgrep:rg:ripgrep
fd:fdfind:fd-find
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
	echo "could not be installed:$failed" >&2
	[ "${CI:-}" = true ] && exit 1
fi
exit 0
