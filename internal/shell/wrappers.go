package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// wrappers run another command. Each removes itself and analyses the rest.
var wrappers map[string]func(a *analyzer, args []arg, st *state) output

func fillWrappers() {
	wrappers = map[string]func(*analyzer, []arg, *state) output{
		"env": runEnv, "xargs": runXargs, "command": runCommand, "builtin": plainWrapper(0, ""), "exec": plainWrapper(0, "a"),
		"nice": plainWrapper(
			0,
			"n",
		), "nohup": plainWrapper(0, ""), "time": timeWrapper, "setsid": plainWrapper(0, ""), "stdbuf": plainWrapper(0, "ioe"),
		"ionice": plainWrapper(
			0,
			"cnpPu",
		), "timeout": plainWrapper(1, "ks"), "gtimeout": plainWrapper(1, "ks"), "caffeinate": plainWrapper(0, "tw"), "busybox": powers(""), "toybox": powers(""), "unbuffer": plainWrapper(0, ""), "not": plainWrapper(0, ""),
		"sh": runShell, "bash": runShell, "dash": runShell, "ash": runShell, "zsh": runShell, "ksh": runShell, "rbash": runShell, "mksh": runShell, "fish": runShell,
		"eval": runEval, "sudo": powers("ugpCcDhRrTtU"), "doas": powers("uC"), "pkexec": powers("u"), "chroot": powers(""), "strace": powers("aeEoOpPsSuX"), "ltrace": powers("aAeFlnopsuwx"),
		"watch": powers(
			"n",
		), "script": powers(""), "flock": powers("wE"), "parallel": powers(""), "su": powers(""), "runuser": powers("u"), "unshare": powers(""), "nsenter": powers(""), "trap": runTrap, "ssh": powers(""), "entr": powers(""), "chronic": powers(""), "taskset": powers(""), "chrt": powers(""), "prlimit": powers(""), "systemd-run": powers(""), "dbus-run-session": powers(""), "xvfb-run": powers(""), "direnv": powers(""), "nix-shell": powers(""),
	}
}

// plainWrapper skips a wrapper's options, with the letters that take a value, and a number of operands.
func plainWrapper(operands int, values string) func(*analyzer, []arg, *state) output {
	return func(a *analyzer, args []arg, st *state) output {
		rest, ok := skipOptions(args[1:], values)
		if !ok || len(rest) < operands {
			return a.unsure(args, st)
		}
		for _, g := range rest[:operands] {
			if g.several() {
				return a.unsure(args, st)
			}
		}
		if rest = rest[operands:]; len(rest) == 0 {
			return text
		}
		return a.run(rest, st)
	}
}

// wrapperValues are long options of wrappers whose value may be the next word, and wrapperFlags are those without one.
var (
	wrapperValues = strings.Fields("--signal --kill-after --adjustment --input --output --error --class --classdata")
	wrapperFlags  = strings.Fields("--foreground --preserve-status --verbose --wait --fork --ctty --ignore --help --version")
)

// skipOptions returns the words after the options, or false if a word may be an unknown option.
func skipOptions(args []arg, values string) ([]arg, bool) {
	for len(args) > 0 {
		word, ok := args[0].text()
		switch {
		case !ok:
			return args, !args[0].maybeOption() && !args[0].several()
		case word == "--":
			return args[1:], true
		case len(word) < 2 || word[0] != '-':
			return args, true
		case word[1] == '-' && strings.Contains(word, "="), slices.Contains(wrapperFlags, word):
		case word[1] == '-' && !slices.Contains(wrapperValues, word):
			return nil, false
		case word[1] == '-', strings.IndexByte(values, word[len(word)-1]) >= 0 && strings.IndexAny(word, values) == len(word)-1:
			if len(args) < 2 || args[1].several() {
				return nil, false
			}
			args = args[1:]
		}
		args = args[1:]
	}
	return args, true
}

// unsure records that a wrapper's command cannot be found among its words.
func (a *analyzer) unsure(args []arg, st *state) output {
	a.add(
		Effect{
			Words:   words(args),
			Outer:   st.outer[:len(st.outer)-1],
			Unknown: "the program that " + args[0].word() + " runs is only known when it runs",
			Opaque:  true,
		},
	)
	return text
}

// powers analyses the command after a wrapper that gives it other privileges or repeats it, which needs permission.
func powers(values string) func(*analyzer, []arg, *state) output {
	return func(a *analyzer, args []arg, st *state) output {
		a.add(Effect{Words: words(args), Outer: st.outer[:len(st.outer)-1], Unknown: "it runs " + args[0].word()})
		if rest, ok := skipOptions(args[1:], values); ok && len(rest) > 0 {
			for len(rest) > 1 && isAssignment(rest[0]) {
				rest = rest[1:]
			}
			a.run(rest, st)
		}
		return text
	}
}

func isAssignment(g arg) bool {
	w, ok := g.text()
	name, _, has := strings.Cut(w, "=")
	return ok && has && name != "" && !strings.ContainsAny(name, "/-")
}

func timeWrapper(a *analyzer, args []arg, st *state) output {
	if len(args) > 1 {
		if w, ok := args[1].text(); !ok || strings.HasPrefix(w, "-") && w != "-p" {
			return powers("fo")(a, args, st)
		}
	}
	return plainWrapper(0, "")(a, args, st)
}

func runEnv(a *analyzer, args []arg, st *state) output {
	rest := args[1:]
	for len(rest) > 0 {
		word, ok := rest[0].text()
		switch {
		case !ok:
			return a.unsure(args, st)
		case word == "-" || word == "-i" || word == "-0" || word == "--ignore-environment" || word == "--null":
			rest = rest[1:]
		case strings.HasPrefix(word, "--unset="):
			a.assignable(word[len("--unset="):])
			rest = rest[1:]
		case (word == "-u" || word == "--unset") && len(rest) > 1 && !rest[1].several():
			a.assignable(rest[1].word())
			rest = rest[2:]
		case word == "--" && len(rest) > 1:
			rest = rest[1:]
		case strings.HasPrefix(word, "-"):
			return a.unsure(args, st)
		case isAssignment(rest[0]):
			name, _, _ := strings.Cut(word, "=")
			a.assignable(name)
			st.env = append(slices.Clip(st.env), name)
			rest = rest[1:]
		default:
			return a.run(rest, st)
		}
	}
	a.add(Effect{Words: words(args), Outer: st.outer[:len(st.outer)-1]})
	return text
}

// runCommand handles the builtin command, which can also look a program up.
func runCommand(a *analyzer, args []arg, st *state) output {
	if len(args) > 1 && (args[1].is("-v") || args[1].is("-V")) {
		a.add(Effect{Words: words(args), Outer: st.outer[:len(st.outer)-1]})
		return text
	}
	return plainWrapper(0, "")(a, args, st)
}

// runShell analyses the script of sh -c. Another script is unknown.
func runShell(a *analyzer, args []arg, st *state) output {
	e := Effect{Words: words(args), Outer: st.outer[:len(st.outer)-1], Unknown: "it runs a script with " + args[0].word(), Opaque: true}
	if len(args) == 2 && (args[1].is("--version")) {
		e.Unknown, e.Opaque = "", false
		a.add(e)
		return text
	}
	rest := args[1:]
	for len(rest) > 0 {
		word, ok := rest[0].text()
		if !ok || len(word) < 2 || word[0] != '-' ||
			strings.HasPrefix(word, "--") && word != "--login" && word != "--noprofile" && word != "--norc" && word != "--posix" {
			break
		}
		if word == "--login" || word == "--noprofile" || word == "--norc" || word == "--posix" {
			rest = rest[1:]
			continue
		}
		if strings.Trim(word[1:], "celuxfhnv") != "" {
			break
		}
		rest = rest[1:]
		if !strings.Contains(word, "c") {
			continue
		}
		if len(rest) == 0 {
			break
		}
		script, ok := rest[0].text()
		if !ok || !readable(script, args[0].word()) {
			break
		}
		return a.nested(script, st, e)
	}
	if len(rest) == 0 && len(args) > 1 && !slices.ContainsFunc(args[1:], func(g arg) bool { return !g.is("-n") }) {
		e.Unknown = "it runs a script from its input"
	}
	a.add(e)
	return text
}

// portable reports whether a script has no syntax that only bash understands: to another shell, ((make)) is a
// command in two subshells.
func portable(script string) bool {
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	ok := err == nil
	if ok {
		syntax.Walk(f, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.ArithmCmd, *syntax.TestClause, *syntax.LetClause, *syntax.CoprocClause, *syntax.ArrayExpr, *syntax.ProcSubst, *syntax.CStyleLoop, *syntax.ExtGlob:
				ok = false
			case *syntax.FuncDecl:
				ok = ok && !n.RsrvWord
			case *syntax.Redirect:
				ok = ok && n.Op != syntax.RdrAll && n.Op != syntax.AppAll && n.Op != syntax.WordHdoc
			case *syntax.BinaryCmd:
				ok = ok && n.Op != syntax.PipeAll
			case *syntax.SglQuoted:
				ok = ok && !n.Dollar
			case *syntax.Word:
				list, few := braces(n)
				ok = ok && few && len(list) == 1
			}
			return ok
		})
	}
	return ok
}

// readable reports whether a shell reads a script as bash does.
func readable(script, shell string) bool {
	switch path.Base(shell) {
	case ".", "bash", "rbash": // "." is the base of ""
		return true
	case "sh", "dash", "ash":
		return portable(script)
	}
	return false
}

// nested analyses a script inside another one. Its functions and variables are its own, but analysing them
// together only makes more values possible.
func (a *analyzer) nested(script string, st *state, e Effect) output {
	moves := a.moves
	err := a.script(script, st.within(nil))
	if a.moves = moves; err != nil {
		e.Unknown = err.Error()
		a.add(e)
	}
	return text
}

// inline analyses a script that this shell runs, now or later.
func (a *analyzer) inline(script string, st *state, e Effect) {
	if err := a.script(script, st.within(st.scope)); err != nil {
		e.Unknown = err.Error()
		a.add(e)
		a.escapes()
	}
}

func runEval(a *analyzer, args []arg, st *state) output {
	var parts []string
	for _, g := range args[1:] {
		s, ok := g.text()
		if !ok || g.several() {
			a.escapes()
			return a.unsure(args, st)
		}
		parts = append(parts, s)
	}
	a.inline(strings.Join(parts, " "), st, Effect{Words: words(args), Unknown: "eval", Opaque: true})
	return text
}

func runTrap(a *analyzer, args []arg, st *state) output {
	if slices.ContainsFunc(args[1:], arg.several) {
		a.escapes()
		return a.unsure(args, st)
	}
	if len(args) < 3 {
		return text
	}
	script, ok := args[1].text()
	switch {
	case !ok:
		a.escapes()
		return a.unsure(args, st)
	case script == "-" || script == "":
		return text
	}
	later := st.with(nil)
	later.stdin, later.piped = output{}, false
	a.inline(script, later, Effect{Words: words(args), Unknown: "trap", Opaque: true})
	return text
}

// xargsLong are long options of xargs that are understood. Others may take the next word or not.
var xargsLong = []string{"null", "max-args", "delimiter", "max-chars", "max-procs", "arg-file", "no-run-if-empty", "verbose", "exit"}

// runXargs analyses the command that xargs runs with names from its input.
func runXargs(a *analyzer, args []arg, st *state) output {
	p := program{
		values:     "ndLIEsP",
		files:      "a",
		valuesLong: []string{"max-args", "delimiter", "max-chars", "max-procs"},
		filesLong:  []string{"arg-file"},
	}
	head := 1
	for head < len(args) {
		word, ok := args[head].text()
		if !ok {
			return a.unsure(args, st)
		}
		if len(word) < 2 || word[0] != '-' {
			break
		}
		head++
		if last := word[len(word)-1]; word[1] != '-' && strings.IndexByte(p.values+p.files, last) >= 0 &&
			strings.IndexAny(word, p.values+p.files) == len(word)-1 ||
			strings.HasPrefix(word, "--") && !strings.Contains(word, "=") && takesValue(word[2:], p.valuesLong, p.filesLong) {
			if head++; head <= len(args) && args[head-1].several() {
				return a.unsure(args, st)
			}
		}
	}
	opts, _, _ := p.parse(args[1:min(head, len(args))])
	input, replace := st.stdin, ""
	for _, o := range opts {
		switch {
		case o.in("0", []string{"null"}):
			if input.is(zeroed) {
				input.kind = dotted.kind
			}
		case o.in("I", []string{"replace"}) && o.value != nil:
			if replace, _ = o.value.text(); replace == "" {
				return a.unsure(args, st)
			}
		case o.long != "" && !slices.Contains(xargsLong, o.long), o.letter != 0 && strings.IndexByte("0ndLIEsPatrxpo", o.letter) < 0:
			return a.unsure(args, st)
		case o.in("d", []string{"delimiter"}) && !o.value.is(`\n`) && !o.value.is(`\0`):
			input = text // part of a name may be another path
		case o.in("a", []string{"arg-file"}):
			input = text
			a.open(Read, o.value, st)
		}
	}
	if input.is(zeroed) {
		input = text
	}
	v := input.value()
	v.many = replace == ""
	name := arg{v}
	rest := slices.Clone(args[min(head, len(args)):])
	inner := *st
	inner.stdin, inner.piped = text, false
	if len(rest) == 0 {
		return text // it echoes its input
	}
	if replace == "" {
		rest = append(rest, name)
	}
	for i, g := range rest {
		if w, ok := g.text(); ok && replace != "" && strings.Contains(w, replace) {
			rest[i] = arg{replaced(w, replace, v)}
		}
	}
	return a.run(rest, &inner)
}
