package rules

import (
	"path"
	"slices"
	"strings"
)

// interpreter is a program that runs another program: a file, an option's text, or else its standard input.
type interpreter struct {
	flags    string // options without a value, as letters
	code     string // options whose value is the program, or names it, as letters
	operands int    // how many operands it needs to name the program; 0 means one, and -1 means that operands do not
}

var (
	posixShell = interpreter{flags: "abefhlmnptuvxBCEHP", code: "c"}
	database   = interpreter{flags: "AHNqtxX", code: "ecf", operands: -1}
)

// interpreters maps names without a version to interpreters.
var interpreters = map[string]interpreter{
	"sh": posixShell, "bash": posixShell, "zsh": posixShell, "dash": posixShell, "ash": posixShell, "ksh": posixShell,
	"mksh": posixShell, "fish": {flags: "lNP", code: "c"}, "csh": posixShell, "tcsh": posixShell, "pwsh": {code: "c"},
	"powershell": {code: "c"}, "source": {}, ".": {}, "python": {flags: "bBdEIOPqRsSuvx", code: "cm"},
	"pypy": {flags: "BEOsSuv", code: "cm"}, "ipython": {code: "cm"}, "node": {code: "ep"}, "nodejs": {code: "ep"},
	"ts-node": {flags: "TD", code: "ep"}, "tsx": {code: "ep"}, "perl": {flags: "acfglnpstTuUvwWX", code: "eE"},
	"ruby": {flags: "aclnpsSvw", code: "e"}, "irb": {}, "php": {flags: "CnqH", code: "fr"},
	"lua": {flags: "EW", code: "e"}, "luajit": {code: "e"}, "rscript": {code: "e"}, "r": {code: "ef"},
	"julia": {code: "eE"}, "osascript": {code: "e"}, "tclsh": {}, "wish": {}, "expect": {code: "cf"},
	"elixir": {code: "e"}, "iex": {operands: -1}, "erl": {operands: -1}, "ghci": {operands: -1}, "ocaml": {code: "e"},
	"guile": {code: "ce"}, "racket": {code: "e"}, "clojure": {code: "e"}, "scala": {code: "e"}, "groovy": {code: "e"},
	"jshell": {operands: -1}, "sqlite": {operands: 2}, "psql": database, "mysql": database, "mariadb": database,
	"parallel": {}, "at": {operands: -1}, "batch": {operands: -1}, "crontab": {code: "l"}, "gdb": {operands: -1},
	"ed": {operands: -1},
}

// interpreterOf returns the interpreter with a program's name.
func interpreterOf(program string) (interpreter, bool) {
	name := strings.ToLower(strings.TrimSuffix(path.Base(program), ".exe"))
	if name != "." {
		name = strings.TrimRight(name, "0123456789.-")
	}
	i, ok := interpreters[name]
	return i, ok
}

// runners run the first program that they name, and wrappers run any program that they name.
var (
	runners  = strings.Fields("npx bunx busybox uv uvx poetry pipenv hatch rye conda npm pnpm yarn bun deno bundle mise direnv nix")
	wrappers = strings.Fields("sudo doas su ssh docker podman kubectl chroot nsenter unshare watch script strace flock")
)

// interprets returns the part of a command that begins with an interpreter, or nil.
func interprets(words []string) []string {
	program := path.Base(words[0])
	for i, w := range words {
		if _, ok := interpreterOf(w); ok {
			return words[i:]
		}
		verb := i == 1 && slices.Contains([]string{"run", "exec", "x", "dlx"}, w)
		if !slices.Contains(wrappers, program) && !(slices.Contains(runners, program) && (i == 0 || verb || strings.HasPrefix(w, "-"))) {
			return nil
		}
	}
	return nil
}

// readsProgram reports whether a command gets the program that it runs from standard input, or may do so. Its words
// then do not tell what it does.
func readsProgram(words []string) bool {
	base := path.Base(words[0])
	if base == "deno" && len(words) == 1 || slices.Contains(runners, base) && slices.ContainsFunc(words[1:], isInput) {
		return true
	}
	for i, w := range words {
		if w == "-f-" || w == "--file=-" || i > 0 && (words[i-1] == "-f" || words[i-1] == "--file") && isInput(w) {
			return true
		}
	}
	if base == "ssh" && len(words) < 3 {
		return true
	}
	words = interprets(words)
	if words == nil {
		return false
	}
	i, _ := interpreterOf(words[0])
	return !i.namesProgram(words[1:])
}

// namesProgram reports whether an interpreter's arguments certainly tell which program it runs.
func (i interpreter) namesProgram(args []string) bool {
	for n, w := range args {
		switch {
		case isInput(w):
			return false
		case !strings.HasPrefix(w, "-"):
			return i.operands >= 0 && len(args)-n >= max(i.operands, 1)
		case strings.HasPrefix(w, "--"):
			return slices.Contains([]string{"--eval", "--print", "--test", "--execute", "--command", "--version", "--help"}, w) &&
				i.code != ""
		}
		letters := strings.TrimLeft(w[1:], i.flags)
		if letters != "" {
			return strings.Contains(i.code, letters[:1]) && (len(letters) > 1 || n+1 < len(args) && !isInput(args[n+1]) || letters == "l")
		}
	}
	return false
}

// isInput reports whether a word stands for standard input.
func isInput(w string) bool {
	return w == "-" || w == "/dev/stdin" || strings.HasPrefix(w, "/dev/fd/") ||
		strings.HasPrefix(w, "/proc/") && strings.Contains(w, "/fd/")
}
