#!/bin/sh
# Runs all tests again and again beside busy loops, and stops at the first failure: soak.sh [PASSES] [LOOPS]
#
# The test programs are built once, so that most of a pass is tests. Five of them run at a time. RACE lists the packages
# whose tests have the race detector, as in "make test".
set -eu
passes=${1:-20}
loops=${2:-4}
dir=$(mktemp -d)
busy=
trap 'kill $busy 2>/dev/null; rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM

export GORACE=atexit_sleep_ms=10
raced=${RACE:+$(go list $RACE)}
n=0
go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}' ./... | while read -r pkg src; do
	n=$((n + 1))
	race=
	if echo "$raced" | grep -qxF "$pkg"; then race=-race; fi
	go test -c $race -vet=off -ldflags=-w -o "$dir/$n.test" "$pkg"
	echo "$src" >"$dir/$n.dir"
	echo "$pkg" >"$dir/$n.pkg"
done

for _ in $(seq "$loops"); do
	sh -c 'while :; do :; done' &
	busy="$busy $!"
done

for pass in $(seq "$passes"); do
	start=$(date +%s)
	# The largest programs take the longest.
	ls -S "$dir"/*.test | DIR=$dir xargs -P 5 -I{} sh -c '
		name=${1%.test}
		cd "$(cat "$name.dir")"
		"$1" -test.timeout=20m >"$name.out" 2>&1 || { echo "FAIL $(cat "$name.pkg")" >>"$DIR/failed"; cp "$name.out" "$name.failed"; }' - {}
	took=$(($(date +%s) - start))
	if [ -e "$dir/failed" ]; then
		cat "$dir/failed" "$dir"/*.failed
		echo "pass $pass of $passes failed after $took s"
		exit 1
	fi
	echo "pass $pass of $passes: ok, $took s"
done
