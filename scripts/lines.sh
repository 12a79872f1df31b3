#!/bin/sh
# Counts the lines of the product, by package: non-test Go files of the main module without test support. "code" leaves
# out blank lines and comments. With --total it prints the sums alone.
set -eu
cd "$(dirname "$0")/.."
support='^(bench|examples|localtest|llm/(llmtest|oracletest)|env/envtest|event/storetest|internal/(apitext|corpus|crosscheck|effects|exchanges|lspsuite|mcpsuite|mutants|prefix|requests|thorough|textfile/textfiletest|gitdir/gitdirtest))/'
git ls-files '*.go' | grep -v '_test\.go$' | grep -Ev "$support" | xargs awk -v total="${1:-}" '
	FNR == 1 { dir = FILENAME; if (!sub("/[^/]*$", "", dir)) dir = "."; comment = 0 }
	{ lines[dir]++; line = $0 }
	comment { if (!sub(/^.*\*\//, "", line)) next; comment = 0 }
	line ~ /^[ \t]*\/\*/ { if (line !~ /\*\//) { comment = 1 }; next }
	line ~ /[^ \t]/ && line !~ /^[ \t]*\/\// { code[dir]++ }
	END {
		for (d in lines) { l += lines[d]; c += code[d] }
		printf "%7d %7d  all\n", c, l
		if (total == "") for (d in lines) printf "%7d %7d  %s\n", code[d], lines[d], d
	}' | sort -rn | sed '1i\   code   lines  package'
