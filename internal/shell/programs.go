package shell

import (
	"slices"
	"strings"
)

// letters are all letters of options.
const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// checksum describes programs that, with -c, read the files that a list names.
var checksum = program{values: "al", indirect: "c", indirectLong: []string{"check"}}

// programs only read, unless one of the options listed here makes them do more.
var programs map[string]program

func fillPrograms() {
	programs = map[string]program{
		"cat": {filter: true, changes: "AbeEnstTvu"}, "tac": {filter: true, changes: "brs"}, "nl": {values: "bdfhilnsvw"},
		"head": {values: "cn", valuesLong: []string{"bytes", "lines"}, filter: true, changes: "cz"},
		"tail": {filter: true, changes: "cz", values: "cnps", valuesLong: []string{"bytes", "lines", "pid", "sleep-interval"}},
		"wc":   {indirectLong: []string{"files0-from"}, prints: numbers}, // of other files it prints only numbers
		"ls": {here: true, changes: "lgonZ", values: "ITw", valuesLong: []string{"ignore", "hide", "tabsize", "width",
			"block-size"}, prints: paths},
		"dir": {here: true, values: "ITw"}, "vdir": {here: true, values: "ITw"},
		"stat": {values: "c", valuesLong: []string{"format", "printf"}}, "file": {writes: "C", writesLong: []string{"compile"},
			indirect: "fmzZ", indirectLong: []string{"files-from", "magic-file", "uncompress", "uncompress-noreport"}, values: "FPem"},
		"du": {values: "Bdt", files: "X", valuesLong: []string{"max-depth", "exclude", "block-size", "threshold"},
			indirectLong: []string{"files0-from"}, filesLong: []string{"exclude-from"}, deep: true, lists: true},
		"df": {values: "Bt", operands: data}, "cut": {values: "bcdf", valuesLong: []string{"delimiter", "fields",
			"output-delimiter"}}, "paste": {values: "d"},
		"tr": {operands: data}, "fold": {values: "w"}, "expand": {values: "t"}, "unexpand": {values: "t"}, "fmt": {values: "gpw"},
		"pr":     {values: "DhlNoWw"},
		"column": {values: "cNosHORWrip"}, "rev": {}, "comm": {}, "join": {values: "aejotv12"}, "cmp": {values: "in"}, "sum": {},
		"diff": {values: "CDFILSUWx", files: "X", valuesLong: []string{"label", "exclude", "width", "ignore-matching-lines"},
			filesLong: []string{"exclude-from", "from-file", "to-file"}, deep: true, followsAll: true},
		"md5sum": checksum, "sha1sum": checksum, "sha224sum": checksum, "sha256sum": checksum, "sha384sum": checksum,
		"sha512sum": checksum, "b2sum": checksum, "cksum": checksum, "shasum": checksum, "md5": {values: "s"},
		"od": {values: "ANSjt"}, "hexdump": {values: "ens", files: "f"}, "hd": {values: "ens"}, "strings": {values: "nteT",
			writesLong: []string{"plugin"}, responses: true}, "base64": {values: "w", outputs: "o"}, "base32": {values: "w"},
		"basename": {operands: data}, "dirname": {operands: data}, "realpath": {operands: data}, "readlink": {operands: data},
		"pwd": {operands: data}, "seq": {operands: data, prints: numbers},
		"echo": {operands: data}, "true": {operands: data}, "false": {operands: data}, ":": {operands: data},
		"expr": {operands: data}, "factor": {operands: data}, "sleep": {operands: data}, "yes": {operands: data},
		"uname": {operands: data}, "whoami": {operands: data}, "id": {operands: data}, "groups": {operands: data},
		"arch": {operands: nothing, writes: letters}, "nproc": {operands: data, prints: numbers}, "uptime": {operands: data},
		"free": {operands: data}, "tty": {operands: data}, "locale": {operands: data}, "getconf": {operands: data},
		"which": {operands: data}, "whereis": {operands: data}, "type": {operands: data}, "lscpu": {operands: data},
		"cal": {operands: data}, "w": {operands: data}, "who": {},
		"hostname": {operands: nothing, writes: "Fb", writesLong: []string{"file", "boot"}},
		"exit":     {operands: data}, "return": {operands: data}, "break": {operands: data}, "continue": {operands: data},
		"shift": {operands: data}, "times": {operands: data}, "jobs": {writes: "x", operands: data},
		"jq": {valuesLong: []string{"indent"}, files: "fL", filesLong: []string{"from-file"}, skip: 1, patterns: "f",
			patternsLong: []string{"from-file"}},
		"grep": {filter: true, changes: "ocnHbhABClLTZz", names: "lL", namesLong: []string{"files-with-matches",
			"files-without-match"}, values: "mABCdD", files: "f", patterns: "ef", patternsLong: []string{"regexp", "file"},
			valuesLong: []string{"include", "exclude", "exclude-dir", "max-count", "after-context", "before-context", "context",
				"label", "binary-files", "devices", "directories"},
			filesLong: []string{"file", "exclude-from"}, skip: 1, deepIf: "rR", deepLong: []string{"recursive",
				"dereference-recursive"}, follows: "R", followsLong: []string{"dereference-recursive"}},
		"rg": {follows: "L", followsLong: []string{"follow"}, visible: true, hidden: ".ugt", hiddenLong: []string{"hidden",
			"unrestricted", "glob", "iglob", "type", "ignore-file"}, names: "l", namesLong: []string{"files-with-matches",
			"files-without-match", "files"}, listsLong: []string{"files", "type-list"}, writes: "z", writesLong: []string{"pre",
			"hostname-bin", "search-zip"}, values: "ABCEgjMmrtTd", files: "f", patterns: "ef", patternsLong: []string{"regexp",
			"file"}, patternless: []string{"files", "type-list"},
			valuesLong: []string{"glob", "iglob", "type", "type-not", "type-add", "context", "after-context", "before-context",
				"max-count", "max-depth", "maxdepth", "max-columns", "max-filesize", "sort", "sortr", "color", "colors", "threads",
				"replace", "encoding", "engine", "context-separator", "path-separator", "field-match-separator"},
			filesLong: []string{"file", "ignore-file"}, skip: 1, deep: true},
		"fd": {writes: "xXl", writesLong: []string{"exec", "exec-batch", "list-details"}, values: "deEtcjS",
			valuesLong: []string{"max-depth", "extension", "exclude", "type", "color", "threads", "size"}, files: "C",
			changes: "C0", filesLong: []string{"base-directory", "search-path", "ignore-file"}, skip: 1, deep: true, lists: true,
			prints: paths},
		"fdfind": {writes: "xXl", writesLong: []string{"exec", "exec-batch", "list-details"}, values: "deEtcjS",
			valuesLong: []string{"max-depth", "extension", "exclude", "type", "color", "threads", "size"}, files: "C",
			changes: "C0", filesLong: []string{"base-directory", "search-path", "ignore-file"}, skip: 1, deep: true, lists: true,
			prints: paths},
		"tree": {writes: "R", outputs: "o", outputsLong: []string{"output"}, values: "LPIHT", valuesLong: []string{"filelimit",
			"charset", "timefmt", "sort"}, filesLong: []string{"fromfile", "gitfile", "infofile"}, deep: true, lists: true},
		"sort": {filter: true, changes: "z", outputs: "o", outputsLong: []string{"output"}, writes: "T",
			writesLong: []string{"compress-program", "files0-from", "temporary-directory"}, values: "kStT",
			valuesLong: []string{"key", "buffer-size", "field-separator", "parallel", "batch-size", "sort"},
			filesLong:  []string{"random-source"}},
		"shuf": {outputs: "o", outputsLong: []string{"output"}, values: "in", filesLong: []string{"random-source"},
			valuesLong: []string{"input-range", "head-count"}},
		"uniq": {filter: true, changes: "cz", operands: secondOut, values: "fsw", valuesLong: []string{"skip-fields", "skip-chars",
			"check-chars"}},
		"zcat": {}, "bzcat": {}, "xzcat": {writesLong: []string{"files", "files0"}}, "nm": {writesLong: []string{"plugin"},
			responses: true}, "size": {writesLong: []string{"plugin"}, responses: true},
		"less": {outputs: "oO", writes: "kK+", writesLong: []string{"log-file", "LOG-FILE", "lesskey-file", "lesskey-src",
			"lesskey-content"}, indirect: "tT", indirectLong: []string{"tag", "tag-file"}, values: "bhjpPtTxyzD"}, "more": {},
		"numfmt": {operands: data}, "tsort": {}, "pgrep": {operands: data}, "netstat": {operands: data}, "ss": {writes: "KDFN",
			writesLong: []string{"kill", "diag", "filter", "net"}, operands: data}, "lsof": {writes: "D", operands: data},
		"clear": {operands: data}, "help": {operands: data}, "tput": {operands: data}, "yq": {writes: "is",
			writesLong: []string{"inplace", "split-exp", "split-exp-file", "from-file"}, skip: 1, values: "opIN"},
		"bat": {writesLong: []string{"pager", "generate-config-file", "build", "clear", "source", "target"}, values: "lrHm",
			valuesLong: []string{"language", "line-range", "style", "theme", "color", "paging", "tabs", "wrap"}},
	}
	for _, name := range []string{"egrep", "fgrep"} {
		programs[name] = programs["grep"]
	}
	programs["sha256"] = programs["sha256sum"]
}

// versioned are programs that print their version without looking at the directory they run in.
var versioned = []string{"node", "npm", "python", "python3", "python2", "pip", "pip3", "ruby", "gem", "java", "javac", "gcc", "g++",
	"cc", "clang", "make", "cmake", "docker", "kubectl", "helm",
	"gh", "deno", "bun", "php", "perl", "curl", "wget", "go", "gofmt", "tsc", "sqlite3", "psql", "terraform", "ansible", "swift",
	"dotnet", "rsync", "ssh", "openssl", "tar", "zip", "unzip", "bash", "zsh", "fish", "sh", "vim", "nvim", "code", "ffmpeg",
	"convert", "R", "julia", "lua", "ghc", "ocaml", "elixir", "erl", "scala", "kotlin", "tmux", "uv", "ruff", "rustup"}

// versionFlags are further words with which programs print their version.
var versionFlags = map[string]string{"java": "-version", "javac": "-version", "go": "version", "helm": "version", "node": "-v",
	"npm": "-v", "python": "-V", "python3": "-V", "pip": "-V", "pip3": "-V", "ruby": "-v", "php": "-v", "cargo": "-V",
	"rustc": "-V", "gcc": "-v", "deno": "-V", "bun": "-v", "yarn": "-v", "pnpm": "-v", "tsc": "-v", "docker": "-v", "make": "-v"}

// asksVersion reports whether a command only prints a program's version.
func (in *invocation) asksVersion() bool {
	if len(in.args) != 1 {
		return false
	}
	word, ok := in.args[0].text()
	return ok && (word == "--version" || slices.Contains(strings.Fields(versionFlags[in.name]), word))
}
