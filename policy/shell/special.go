package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/reins-agent/reins/internal/lazy"
)

// special are programs and builtins that a table cannot describe.
var special map[string]func(*invocation) output

func fillSpecial() {
	special = map[string]func(*invocation) output{
		"source": (*invocation).source, ".": (*invocation).source, "find": (*invocation).find, "sed": (*invocation).sed, "gsed": (*invocation).sed, "awk": (*invocation).awk, "gawk": (*invocation).awk, "mawk": (*invocation).awk,
		"git": (*invocation).git, "test": (*invocation).test, "[": (*invocation).test, "printf": (*invocation).printf, "read": (*invocation).read,
		"mapfile": (*invocation).read, "readarray": (*invocation).read, "set": (*invocation).set, "shopt": (*invocation).shopt, "unset": (*invocation).unset,
		"getopts": (*invocation).getopts, "wait": (*invocation).wait, "gofmt": (*invocation).gofmt, "date": (*invocation).date, "ps": (*invocation).ps, "printenv": (*invocation).printenv, "tar": (*invocation).tar, "unzip": (*invocation).unzip, "gzip": (*invocation).gzip, "gunzip": (*invocation).gzip,
		"go": (*invocation).golang, "jq": (*invocation).jq, "yq": (*invocation).yq,
		"rm": (*invocation).rm, "rmdir": (*invocation).rm, "unlink": (*invocation).rm, "mv": (*invocation).move, "cp": (*invocation).move, "ln": (*invocation).move, "install": (*invocation).move,
		"touch": (*invocation).writer, "mkdir": (*invocation).writer, "tee": (*invocation).writer, "truncate": (*invocation).writer, "chmod": (*invocation).mode, "chown": (*invocation).mode, "chgrp": (*invocation).mode, "dd": (*invocation).dd,
	}
	for _, name := range versioned {
		if special[name] == nil {
			special[name] = (*invocation).other
		}
	}
}

// source runs the commands of a file in this shell.
func (in *invocation) source() output {
	in.effect.Opaque = true
	if len(in.args) > 0 {
		in.uses(Read, in.args[0])
	}
	return in.other()
}

// other handles programs that are only harmless if they print their version.
func (in *invocation) other() output {
	if !in.asksVersion() {
		in.mentions()
		in.unknown("it runs " + in.name)
	}
	return text
}

// test handles test and [, whose -v evaluates subscripts.
func (in *invocation) test() output {
	for i, g := range in.args {
		if w, ok := g.text(); !ok && g.several() {
			in.unknown("its test is only known when it runs")
		} else if ok && (w == "-v" || w == "-R") && i+1 < len(in.args) {
			if name, ok := in.args[i+1].text(); !ok || !syntax.ValidName(name) {
				in.unknown("test -v evaluates the subscript of a variable")
			}
		}
	}
	return text
}

func (in *invocation) printf() output {
	if len(in.args) > 0 {
		if in.args[0].maybeOption() {
			w, ok := in.args[0].text()
			switch {
			case ok && w == "-v" && len(in.args) > 1:
				in.assigns(in.args[1])
			case ok && strings.HasPrefix(w, "-v"):
				in.assigns(literal(w[2:]))
			case !ok:
				in.unknown("its first word may be an option of printf")
			}
		}
	}
	return text
}

// assigns records that a builtin assigns to a variable.
func (in *invocation) assigns(g arg) {
	name, ok := g.text()
	switch {
	case !ok || !syntax.ValidName(name):
		in.unknown("it assigns to a variable whose name is only known when it runs, or whose subscript is code")
	case isCode(name):
		in.unknown("it sets " + name + ", which changes what programs do")
	}
}

// read handles read and mapfile.
func (in *invocation) read() output {
	p := program{values: "dnOsuCc"}
	if in.name == "read" {
		p.values = "aidnNptu"
	}
	opts, rest, certain := p.parse(in.args)
	if !certain {
		in.unknown("a name may be an option of " + in.name)
	}
	for _, o := range opts {
		switch {
		case o.letter == 'a':
			in.assigns(o.value)
		case o.letter == 'C' && in.name != "read":
			in.unknown(in.name + " -C runs a command")
			in.effect.Opaque = true
		}
	}
	for _, g := range rest {
		in.assigns(g)
	}
	if len(rest) == 1 && in.name == "read" && !in.st.stdin.is(text) {
		if name, ok := rest[0].text(); ok && in.a.readers(name) == 1 {
			in.a.sources[name] = in.st.stdin
			in.st.scope.assigned = append(in.st.scope.assigned, name)
			if in.st.stdin.is(zeroed) {
				in.a.sources[name] = output{paths.kind, in.st.stdin.from}
			}
			delete(in.a.opaqueVars, name)
		}
	}
	return text
}

func (in *invocation) getopts() output {
	if len(in.args) > 1 {
		in.assigns(in.args[1])
	}
	return text
}

// wait assigns to the variable that -p names.
func (in *invocation) wait() output {
	opts, _, certain := program{values: "p"}.parse(in.args)
	if !certain {
		in.unknown("a name may be an option of wait")
	}
	for _, o := range opts {
		if o.letter == 'p' {
			in.assigns(o.value)
		}
	}
	return text
}

// gofmt writes files only with -w, and a profile with -cpuprofile.
func (in *invocation) gofmt() output {
	kind := Read
	var files []arg
	for i := 0; i < len(in.args); i++ {
		w, ok := in.args[i].text()
		switch name := strings.TrimLeft(w, "-"); {
		case !ok && in.args[i].maybeOption():
			in.unknown("a name may be an option of gofmt")
		case !strings.HasPrefix(w, "-") || w == "-":
			files = append(files, in.args[i])
		case name == "w":
			kind = Write
		case name == "r":
			i++
		case name != "l" && name != "d" && name != "s" && name != "e" && !strings.HasPrefix(name, "r="):
			in.unknown("gofmt " + w + " may write files")
		}
	}
	n := len(in.effect.Accesses)
	for _, g := range files {
		in.uses(kind, g)
	}
	for i := range in.effect.Accesses[n:] {
		in.effect.Accesses[n+i].Deep, in.effect.Accesses[n+i].Names = true, []string{"*.go"}
	}
	return text
}

// readers counts what assigns to a variable. Only a variable with a single source is followed.
func (a *analyzer) readers(name string) int {
	if len(a.vars[name]) > 0 || a.numbers[name] {
		return 2
	}
	return a.reads[name]
}

var setFlags = lazy.Regexp(`^[-+][abefhmnptuvxCEHT]*o?$`)

func (in *invocation) set() output {
	if len(in.args) == 0 {
		in.unknown("set prints all variables, which may hold secrets")
	}
	for i := 0; i < len(in.args); i++ {
		w, ok := in.args[i].text()
		if ok && w == "--" {
			return text
		}
		if !ok && in.args[i].maybeOption() || ok && strings.HasPrefix(w, "-") && !setFlags().MatchString(w) {
			in.unknown("set gets options that are not known")
			return text
		}
		if ok && strings.HasSuffix(w, "o") && setFlags().MatchString(w) {
			i++
		}
	}
	return text
}

var shellOptions = []string{"nullglob", "globstar", "failglob", "nocasematch", "inherit_errexit", "lastpipe"}

func (in *invocation) shopt() output {
	for _, g := range in.args {
		w, ok := g.text()
		if !ok || !strings.HasPrefix(w, "-") && !slices.Contains(shellOptions, w) || strings.HasPrefix(w, "-o") {
			in.unknown("shopt sets an option that is not known")
		}
	}
	return text
}

func (in *invocation) unset() output {
	for _, g := range in.args {
		w, ok := g.text()
		if !ok || strings.ContainsAny(w, "[]") {
			in.unknown("unset evaluates a subscript")
		}
	}
	return text
}

func (in *invocation) date() output {
	p := program{writes: "s", writesLong: []string{"set"}, values: "dfrIv", files: "fr", filesLong: []string{"file", "reference"}, valuesLong: []string{"date", "iso-8601", "rfc-3339"}, operands: data}
	_, rest, _ := p.parse(in.args)
	in.table(p)
	for _, g := range rest {
		if w, ok := g.text(); !ok && g[0].text == "" || ok && !strings.HasPrefix(w, "+") {
			in.unknown("date sets the clock if its operand does not begin with +")
		}
	}
	return text
}

func (in *invocation) ps() output {
	for _, g := range in.args {
		if w, ok := g.text(); !ok || !strings.HasPrefix(w, "-") && strings.Contains(w, "e") && strings.Trim(w, "abcdefghijklmnopqrstuvwxyz") == "" {
			in.unknown("ps e prints the environment of processes, which may hold secrets")
		}
	}
	return text
}

func (in *invocation) printenv() output {
	for _, g := range in.args {
		if w, ok := g.text(); !ok || secretName(w) {
			in.unknown("it prints a variable that may hold a secret")
		}
	}
	if len(in.args) == 0 {
		in.unknown("it prints the environment, which may hold secrets")
	}
	return text
}

var tarList = lazy.Regexp(`^-?[tvfzjJ]*t[tvfzjJ]*$`)

// tar only reads if it lists an archive.
func (in *invocation) tar() output {
	if in.asksVersion() {
		return text
	}
	first, ok := "", false
	if len(in.args) > 0 {
		first, ok = in.args[0].text()
	}
	if !ok || !tarList().MatchString(first) || len(in.args) < 2 {
		in.mentions()
		in.unknown("tar writes files or runs programs")
		return text
	}
	for i, g := range in.args[1:] {
		w, ok := g.text()
		switch {
		case i == 0 && strings.HasSuffix(first, "f"):
			in.uses(Read, g)
			if ok && strings.Contains(w, ":") {
				in.unknown("tar connects to another host")
			}
		case !ok && g.maybeOption(), strings.HasPrefix(w, "-"):
			in.unknown("tar gets options that are not known")
		}
	}
	return text
}

func (in *invocation) unzip() output {
	if len(in.args) >= 2 {
		if w, ok := in.args[0].text(); ok && (w == "-l" || w == "-v" || w == "-p" || w == "-Z1" || w == "-t") {
			in.uses(Read, in.args[1])
			return text
		}
	}
	return in.other()
}

func (in *invocation) gzip() output {
	p := program{values: "Sb"}
	opts, rest, certain := p.parse(in.args)
	if !certain || !slices.ContainsFunc(opts, func(o option) bool { return o.in("clt", []string{"stdout", "list", "test"}) }) {
		return in.other()
	}
	for _, g := range rest {
		in.uses(Read, g)
	}
	return text
}

// golang handles the few go commands that only read.
func (in *invocation) golang() output {
	if in.asksVersion() {
		return text
	}
	if len(in.args) > 0 && in.args[0].is("env") && !slices.ContainsFunc(in.args[1:], func(g arg) bool {
		w, ok := g.text()
		return !ok || strings.HasPrefix(w, "-") && w != "-json" && w != "-changed"
	}) {
		return text
	}
	return in.other()
}

var yqReaches = lazy.Regexp(`(load\w*|env|strenv|system|import|include)\s*\(|envsubst|\$ENV|\binput_filename\b`)

// yq evaluates expressions that can load files and print the environment.
func (in *invocation) yq() output {
	for i, g := range in.args {
		if w, ok := g.text(); !ok && i == 0 || ok && yqReaches().MatchString(w) {
			in.unknown("its yq expression may load files or print the environment")
		}
	}
	return in.table(programs["yq"])
}

// jqReaches matches what a jq filter uses to reach beyond its input.
var jqReaches = lazy.Regexp(`(^|[^.\w"$])(env|import|include|input_filename)\b|\$ENV`)

// jq can print the environment, and its options with two values need care.
func (in *invocation) jq() output {
	if in.asksVersion() {
		return text
	}
	var rest []arg
	options := 0
	for i := 0; i < len(in.args); i++ {
		w, ok := in.args[i].text()
		switch {
		case ok && (w == "--arg" || w == "--argjson"):
			i += 2
		case ok && (w == "--slurpfile" || w == "--rawfile" || w == "--argfile"):
			if i += 2; i < len(in.args) {
				in.uses(Read, in.args[i])
			}
		case ok && (w == "--args" || w == "--jsonargs"):
			i = len(in.args)
		case ok && (w == "--indent"):
			i++
		default:
			rest = append(rest, in.args[i])
			if len(rest) == 1+options && (!ok || jqReaches().MatchString(w)) || ok && (strings.HasPrefix(w, "-") && strings.Contains(w, "f")) {
				in.unknown("its jq filter may print the environment or load code")
			}
			if ok && strings.HasPrefix(w, "-") {
				options++
			}
		}
	}
	in.args = rest
	return in.table(programs["jq"])
}
