#!/bin/sh
# Counts the lines of the product, by package: non-test Go files of the main module without test support. The faces are
# the command line, the terminal, and the packages that only these use; the core is all else. "code" leaves out blank lines and comments. With --total it
# prints the sums alone.
set -eu
cd "$(dirname "$0")/.."
support='^(bench|examples|localtest|llm/(llmtest|oracletest)|env/envtest|event/storetest|internal/(apitext|conformance|corpus|crosscheck|effects|exchanges|handletest|lint|lspsuite|mcpsuite|mutants|prefix|requests|thorough|words|tui/tuitest|textfile/textfiletest|gitdir/gitdirtest))/'
git ls-files '*.go' | grep -v '_test\.go$' | grep -Ev "$support" | xargs awk -v total="${1:-}" '
	FNR == 1 {
		dir = FILENAME
		if (!sub("/[^/]*$", "", dir)) dir = "."
		face = dir ~ /^(cmd|internal\/(cli|coder|keyboard|tui|watch))(\/|$)/
		comment = 0
	}
	{ lines[dir]++; l[face]++; line = $0 }
	comment { if (!sub(/^.*\*\//, "", line)) next; comment = 0 }
	line ~ /^[ \t]*\/\*/ { if (line !~ /\*\//) { comment = 1 }; next }
	line ~ /[^ \t]/ && line !~ /^[ \t]*\/\// { code[dir]++; c[face]++ }
	END {
		printf "%7d %7d  all\n", c[0] + c[1], l[0] + l[1]
		printf "%7d %7d  core\n", c[0], l[0]
		printf "%7d %7d  faces\n", c[1], l[1]
		if (total == "") for (d in lines) printf "%7d %7d  %s\n", code[d], lines[d], d
	}' | sort -rn | sed '1i\   code   lines  package'
