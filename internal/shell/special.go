package shell

import (
	"maps"
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
		"getopts": (*invocation).getopts, "wait": (*invocation).wait, "gofmt": (*invocation).gofmt, "date": (*invocation).date, "xxd": (*invocation).xxd, "zipinfo": (*invocation).unzip, "ps": (*invocation).ps, "printenv": (*invocation).printenv, "tar": (*invocation).tar, "unzip": (*invocation).unzip, "gzip": (*invocation).gzip, "gunzip": (*invocation).gzip,
		"jq": (*invocation).jq, "yq": (*invocation).yq,
		"rm": (*invocation).rm, "rmdir": (*invocation).rm, "unlink": (*invocation).rm, "mv": (*invocation).move, "cp": (*invocation).move, "ln": (*invocation).move, "install": (*invocation).move,
		"touch": (*invocation).writer, "mkdir": (*invocation).writer, "tee": (*invocation).writer, "truncate": (*invocation).writer, "chmod": (*invocation).mode, "chown": (*invocation).mode, "chgrp": (*invocation).mode, "dd": (*invocation).dd,
	}
	for _, name := range versioned {
		if special[name] == nil {
			special[name] = (*invocation).other
		}
	}
	for _, name := range append(slices.Collect(maps.Keys(readers)), proxies...) {
		special[name] = (*invocation).tool
	}
}

// source runs a file's commands in this shell.
func (in *invocation) source() output {
	in.effect.Opaque = true
	in.a.escapes()
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
		switch {
		case g.several() && g.couldBe([]string{"-v", "-R"}):
			in.unknown("its test is only known when it runs")
		case g.couldBe([]string{"-v", "-R"}) && i+1 < len(in.args):
			if name, ok := in.args[i+1].text(); !ok || !syntax.ValidName(name) {
				in.unknown("test -v evaluates the subscript of a variable")
			}
		}
	}
	return text
}

// stores matches the conversion with which printf assigns to a variable.
var stores = lazy.Regexp(`%[^a-zA-Z%]*[hljztL]*n`)

// printf assigns to the variables that -v and %n name.
func (in *invocation) printf() output {
	args := in.args
	if len(args) == 0 {
		return text
	}
	w, ok := args[0].text()
	switch {
	case !ok && args[0].maybeOption():
		in.unknown("its first word may be an option of printf")
		in.a.learn(&in.a.anything)
	case ok && w == "-v" && len(args) > 1:
		in.assigns(args[1])
		args = args[2:]
	case ok && strings.HasPrefix(w, "-v"):
		in.assigns(literal(w[2:]))
		args = args[1:]
	}
	if len(args) > 0 && args[0].is("--") {
		args = args[1:]
	}
	if len(args) < 2 {
		return text
	}
	if format, ok := args[0].form(); !ok || stores().MatchString(format) || args[0].several() {
		for _, g := range args[1:] {
			in.assigns(g)
		}
	}
	return text
}

// assigns records that a builtin assigns to a variable.
func (in *invocation) assigns(g arg) {
	for _, v := range g {
		switch {
		case !v.known || v.glob || v.many || !syntax.ValidName(v.text):
			in.unknown("it assigns to a variable whose name is only known when it runs, or whose subscript is code")
			in.a.learn(&in.a.anything)
			continue
		case isCode(v.text) || slices.Contains(computed, v.text):
			in.unknown("it sets " + v.text + ", which changes what programs do")
		}
		in.a.note(in.a.opaque, v.text)
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
		in.a.learn(&in.a.anything)
	}
	lines := in.name == "read" // whole lines are read
	for _, o := range opts {
		switch {
		case o.letter == 'a':
			in.assigns(o.value)
			lines = false
		case o.letter == 'C' && in.name != "read":
			in.unknown(in.name + " -C runs a command")
			in.effect.Opaque = true
			in.a.escapes()
		case o.letter != 'r' && !(o.letter == 'd' && o.value.is("")):
			lines = false
		}
	}
	switch {
	case len(rest) > 0:
	case in.name == "read":
		rest = []arg{literal("REPLY")}
	default:
		rest = []arg{literal("MAPFILE")}
	}
	if name, ok := rest[0].text(); ok && lines && len(rest) == 1 && !in.st.stdin.is(text) && syntax.ValidName(name) && !isCode(name) {
		from := in.st.stdin
		if from.is(zeroed) {
			from = output{paths.kind, from.from}
		}
		in.a.reads(name, from)
		in.st.scope.assigned = append(in.st.scope.assigned, name)
		return text
	}
	for _, g := range rest {
		in.assigns(g)
	}
	return text
}

func (in *invocation) getopts() output {
	args := in.args
	if len(args) > 0 && args[0].is("--") {
		args = args[1:]
	}
	if slices.ContainsFunc(args, arg.several) && len(args) < 2 || len(args) > 0 && args[0].several() {
		in.unknown("the words of getopts are only known when it runs")
		in.a.learn(&in.a.anything)
	}
	if len(args) > 1 {
		in.assigns(args[1])
	}
	in.a.note(in.a.opaque, "OPTARG")
	in.a.note(in.a.opaque, "OPTIND")
	return text
}

// wait assigns to the variable that -p names.
func (in *invocation) wait() output {
	opts, rest, certain := program{values: "p"}.parse(in.args)
	if !certain || slices.ContainsFunc(rest, func(g arg) bool { return g.several() && g.maybeOption() }) {
		in.unknown("a name may be an option of wait")
		in.a.learn(&in.a.anything)
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
			if i++; i < len(in.args) && in.args[i].several() {
				in.unknown("a name may be an option of gofmt")
			}
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

var setFlags = lazy.Regexp(`^-[befhmntuvxCET]+$`)

// setOptions are names for set -o that change nothing about which commands run.
var setOptions = strings.Fields("braceexpand errexit errtrace functrace hashall monitor noclobber noexec noglob notify nounset onecmd " +
	"pipefail verbose xtrace")

// set handles set, whose options may change how the shell reads the line.
func (in *invocation) set() output {
	if len(in.args) == 0 {
		in.unknown("set prints all variables, which may hold secrets")
	}
	for i := 0; i < len(in.args); i++ {
		w, ok := in.args[i].text()
		turnsOff := ok && strings.HasPrefix(w, "+")
		switch {
		case ok && (w == "--" || w == "-" || !strings.HasPrefix(w, "-") && !turnsOff):
			return text
		case ok && (strings.HasSuffix(w, "o") && setFlags().MatchString("-h"+strings.Trim(w, "-+o")) && len(w) > 1):
			i++
			if i < len(in.args) && (!in.args[i].couldOnlyBe(setOptions) || turnsOff && in.args[i].is("braceexpand")) {
				in.unknown("set gets options that are not known")
			}
		case ok && (setFlags().MatchString(w) || turnsOff && setFlags().MatchString("-"+w[1:])):
		case ok || in.args[i].maybeOption() || in.args[i].couldBe([]string{"+k"}):
			in.unknown("set gets options that are not known")
			return text
		default:
			return text
		}
	}
	return text
}

// couldOnlyBe reports whether every value of the word is in a list.
func (g arg) couldOnlyBe(list []string) bool {
	return !slices.ContainsFunc(g, func(v value) bool { return !v.known || v.glob || v.many || !slices.Contains(list, v.text) })
}

var shellOptions = []string{"nullglob", "globstar", "failglob", "nocasematch", "inherit_errexit"}

func (in *invocation) shopt() output {
	for _, g := range in.args {
		if !g.couldOnlyBe(shellOptions) && !g.couldOnlyBe([]string{"-s", "-u", "-q", "-p"}) {
			in.unknown("shopt sets an option that is not known")
		}
	}
	return text
}

// unset removes variables and functions. Without PATH, programs are found in the working directory.
func (in *invocation) unset() output {
	for _, g := range in.args {
		for _, v := range g {
			switch {
			case v.known && !v.glob && slices.Contains([]string{"-f", "-v", "--"}, v.text):
			case !v.known || v.glob || !syntax.ValidName(v.text):
				in.unknown("unset removes what is only known when it runs, or evaluates a subscript")
				in.a.learn(&in.a.anything)
			case isCode(v.text) || slices.Contains(computed, v.text):
				in.unknown("it removes " + v.text + ", which changes what programs do")
			default:
				in.a.note(in.a.removed, v.text)
			}
		}
	}
	return text
}

func (in *invocation) date() output {
	p := program{
		writes:     "s",
		writesLong: []string{"set"},
		values:     "dfrv",
		files:      "fr",
		filesLong:  []string{"file", "reference"},
		valuesLong: []string{"date", "rfc-3339"},
		operands:   data,
	}
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
		w, ok := g.text()
		bsd := !strings.HasPrefix(w, "-") && strings.Contains(w, "e") && strings.Trim(w, "abcdefghijklmnopqrstuvwxyz") == ""
		if !ok || bsd || strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.Contains(w, "E") {
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
		case i == 0 && strings.Contains(first, "f"):
			in.uses(Read, g)
			if !ok || strings.Contains(w, ":") {
				in.unknown("tar may connect to another host")
			}
		case !ok && g.maybeOption(), strings.HasPrefix(w, "-"):
			in.unknown("tar gets options that are not known")
		}
	}
	return text
}

// unzip only reads if it lists or prints. A second option may undo the first.
func (in *invocation) unzip() output {
	args := in.args
	if len(args) > 0 && slices.ContainsFunc([]string{"-l", "-v", "-p", "-Z1", "-t"}, args[0].is) {
		args = args[1:]
	} else if in.name != "zipinfo" {
		return in.other()
	}
	if len(args) == 0 || slices.ContainsFunc(args, func(g arg) bool { return dashed(g) || g.maybeOption() || g.several() }) {
		return in.other()
	}
	in.uses(Read, args[0])
	return text
}

// xxdFlags are xxd options without a value, and xxdValues matches options with a number.
var (
	xxdFlags = strings.Fields("-a -b -bits -C -capitalize -d -e -E -i -include -p -ps -plain -postscript -r -revert -u -uppercase " +
		"-v -version")
	xxdValues = lazy.Regexp(`^-(c|cols|g|groupsize|l|len|o|s|seek)([0-9+-][0-9xa-f+-]*)?$`)
)

// xxd writes its second operand, and its options have one dash.
func (in *invocation) xxd() output {
	var files []arg
	for i := 0; i < len(in.args); i++ {
		g := in.args[i]
		w, ok := g.text()
		match := xxdValues().FindStringSubmatch(w)
		switch {
		case !ok && (g.maybeOption() || g.several()):
			in.unknown("a name may be an option or the output file of xxd")
		case slices.Contains(xxdFlags, w):
		case match != nil && match[2] == "" && i+1 < len(in.args) && in.args[i+1].several():
			in.unknown("a name may be an option or the output file of xxd")
		case match != nil && match[2] == "":
			i++
		case match != nil:
		case dashed(g) && w != "-":
			in.unknown("xxd " + w + " may write a file")
		default:
			files = append(files, g)
		}
	}
	for i, g := range files {
		if i > 0 {
			in.uses(Write, g)
		} else if !g.is("-") {
			in.uses(Read, g)
		}
	}
	return text
}

func (in *invocation) gzip() output {
	p := program{values: "Sb"}
	opts, rest, certain := p.parse(in.args)
	if !certain || !slices.ContainsFunc(opts, func(o option) bool { return o.in("clt", []string{"stdout", "list", "test"}) }) {
		return in.other()
	}
	for _, g := range rest {
		in.searches(g)
	}
	return text
}

var yqReaches = lazy.Regexp(`(load\w*|env|strenv|system|import|include)\s*\(|envsubst|\$ENV|\binput_filename\b`)

// yq evaluates expressions that can load files and print the environment.
func (in *invocation) yq() output {
	operands := 0
	for _, g := range in.args {
		w, ok := g.text()
		if !ok && operands == 0 || yqReaches().MatchString(w) {
			in.unknown("its yq expression may load files or print the environment")
		}
		if !dashed(g) {
			operands++
		}
	}
	return in.table(programs["yq"])
}

// jqReaches matches the parts of a jq filter that reach beyond its input.
var jqReaches = lazy.Regexp(`(^|[^.\w"$])(env|import|include|input_filename|modulemeta|get_search_list)\b|\$ENV`)

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
		case ok && (w == "--arg" || w == "--argjson" || w == "--slurpfile" || w == "--rawfile" || w == "--argfile" || w == "--indent") &&
			slices.ContainsFunc(in.args[i+1:min(i+3, len(in.args))], arg.several):
			in.unknown("a name may be an option of jq")
		case ok && (w == "--arg" || w == "--argjson"):
			i += 2
		case ok && (w == "--slurpfile" || w == "--rawfile" || w == "--argfile"):
			if i += 2; i < len(in.args) {
				in.uses(Read, in.args[i])
			}
		case ok && (w == "--args" || w == "--jsonargs"):
			if len(rest) == options {
				in.unknown("its jq filter comes after " + w)
			}
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
