package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// arg is a command word with the values it may have.
type arg []value

func literal(s string) arg { return arg{exact(s)} }

// text returns the word if there is only one possibility.
func (g arg) text() (string, bool) {
	if len(g) == 1 && g[0].known && !g[0].glob && !g[0].stream {
		return g[0].text, true
	}
	return "", false
}

// is reports whether the word is exactly s.
func (g arg) is(s string) bool { t, ok := g.text(); return ok && t == s }

// word returns the text for rules.
func (g arg) word() string {
	if t, ok := g.text(); ok {
		return t
	}
	if len(g) == 1 && g[0].glob && g[0].known {
		return g[0].text
	}
	return Unset
}

// maybeOption reports whether the word may begin with a dash when the command runs.
func (g arg) maybeOption() bool {
	return slices.ContainsFunc(g, func(v value) bool {
		switch {
		case v.stream || v.dotted:
			return false
		case v.glob && v.text == "":
			return true
		case v.text != "":
			return strings.ContainsRune("-*?[", rune(v.text[0]))
		case v.number: // options that are numbers do nothing that matters
			return false
		}
		return !v.known
	})
}

// numbered reports whether the word begins with a number. As an option, a negative one is invalid.
func (g arg) numbered() bool {
	return len(g) == 1 && g[0].form != "" && g[0].form[0] >= '0' && g[0].form[0] <= '9'
}

// several reports whether the word may become several words, or none.
func (g arg) several() bool {
	return slices.ContainsFunc(g, func(v value) bool { return v.many })
}

// couldBe reports whether the word, or one that it becomes, may be in a list.
func (g arg) couldBe(list []string) bool {
	return slices.ContainsFunc(g, func(v value) bool {
		switch {
		case v.stream || v.dotted:
			return false
		case v.known && !v.glob:
			return slices.Contains(list, v.text)
		case v.known && !strings.ContainsAny(v.text, `[(\`):
			return slices.ContainsFunc(list, func(s string) bool { ok, err := path.Match(v.text, s); return ok || err != nil })
		case v.text != "":
			return strings.IndexByte("*?[", v.text[0]) >= 0 || slices.ContainsFunc(list, func(s string) bool { return v.text[0] == s[0] })
		}
		return !v.number
	})
}

func words(args []arg) []string {
	list := make([]string, len(args))
	for i, g := range args {
		list[i] = g.word()
	}
	return list
}

// maxWords bounds the words that a brace expansion makes.
const maxWords = 1000

// braces returns the words that brace expansion makes of one, or false if there are too many.
func braces(w *syntax.Word) ([]*syntax.Word, bool) {
	c := *w
	c.Parts = slices.Clone(w.Parts)
	if !syntax.SplitBraces(&c) {
		return []*syntax.Word{w}, true
	}
	var list []*syntax.Word
	for x, err := range expand.BracesSeq(nil, &c) {
		if err != nil || len(list) == maxWords {
			return nil, false
		}
		list = append(list, x)
	}
	return list, true
}

// args evaluates a command's words.
func (a *analyzer) args(list []*syntax.Word, st *state) []arg {
	var args []arg
	for _, w := range list {
		expanded, ok := braces(w)
		if !ok {
			a.unclear("a brace expansion makes more than %d words", maxWords)
			args = append(args, arg{{many: true}})
		}
		for _, x := range expanded {
			v := a.eval(x, st)
			if bare(x) && len(v) == 1 && v[0].known && v[0].text == "" {
				continue // an unquoted expansion without a value makes no word
			}
			args = append(args, v)
		}
	}
	return args
}

// bare reports whether a word has no quotes and no literal text.
func bare(w *syntax.Word) bool {
	return !slices.ContainsFunc(w.Parts, func(p syntax.WordPart) bool {
		switch p.(type) {
		case *syntax.ParamExp, *syntax.CmdSubst:
			return false
		}
		return true
	})
}

// call analyses a simple command.
func (a *analyzer) call(c *syntax.CallExpr, st *state) flow {
	inner := *st
	for _, n := range c.Assigns {
		if n.Name != nil && n.Name.Value == "IFS" && len(c.Args) > 0 && c.Args[0].Lit() == "read" && !st.scope.defines("read") {
			a.eval(n.Value, st) // it only changes how this line is split
			continue
		}
		a.assign(n, st)
		if n.Name != nil && len(c.Args) > 0 {
			inner.env = append(slices.Clip(inner.env), n.Name.Value)
		}
	}
	here := flow{ok: st.dirs, any: st.dirs}
	if len(c.Args) == 0 {
		a.assigned(c.Assigns, st)
		return here
	}
	args := a.args(c.Args, st)
	if len(args) == 0 {
		return here
	}
	name, ok := args[0].text()
	if ok && name == "cd" && !st.scope.defines("cd") {
		return a.cd(args, st)
	}
	if ok && st.scope.defines(name) {
		for _, v := range inner.env { // its body was analysed without them
			a.note(a.exports, v)
		}
	}
	moves := a.moves
	if here.out = a.run(args, &inner); a.moves != moves {
		here.ok, here.any = nil, nil
	}
	return here
}

// cd follows a change of directory.
func (a *analyzer) cd(args []arg, st *state) flow {
	a.moved()
	if len(args) > 1 && args[1].is("--") || len(args) > 1 && args[1].is("-L") {
		args = slices.Delete(slices.Clone(args), 1, 2)
	}
	to := arg{exact(a.Home)}
	if len(args) == 2 {
		to = args[1]
	}
	e := Effect{Words: words(args), Outer: st.outer}
	var targets []string
	for _, v := range to {
		list, ok := a.file(Read, st, v)
		if len(args) > 2 || !ok || v.glob || v.inside || strings.HasPrefix(v.text, "-") || v.text == "" || len(list) == 0 {
			e.Unknown = "it changes to a directory that is only known when it runs"
			a.add(e)
			return flow{}
		}
		for _, x := range list {
			x.Path = a.Paths.Clean(x.Path) // unlike programs, cd resolves ".." by name
			e.Accesses, targets = append(e.Accesses, x), append(targets, x.Path)
		}
	}
	a.add(e)
	if a.ownCD {
		return flow{}
	}
	return flow{ok: targets, any: union(st.dirs, targets)}
}

// standardDirs are where the system keeps its programs.
var standardDirs = []string{"/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin"}

// programName returns a program's name, or false if it is not a system program.
func programName(word string) (string, bool) {
	if !strings.ContainsAny(word, `/\`) {
		return word, word != "" && word != "." || word == "."
	}
	return path.Base(word), slices.Contains(standardDirs, path.Dir(word))
}

// run analyses a command given by its words, and returns its output.
func (a *analyzer) run(args []arg, st *state) output {
	name, ok := args[0].text()
	if !ok {
		a.add(Effect{Words: words(args), Outer: st.outer, Unknown: "the program it runs is only known when it runs", Opaque: true})
		return text
	}
	if st.scope.defines(name) && len(st.outer) == 0 {
		return text // its body was analysed where it is defined
	}
	program, standard := programName(name)
	e := Effect{Words: words(args), Outer: st.outer}
	if !standard {
		e.Unknown = "it runs " + name
		a.add(e)
		return text
	}
	if unwrap, ok := wrappers[program]; ok {
		if a.depth++; a.depth > maxDepth {
			a.unclear("too many nested commands")
			return text
		}
		defer func() { a.depth-- }()
		inner := *st
		inner.outer = append(slices.Clone(st.outer), e.Words)
		return unwrap(a, args, &inner)
	}
	switch program {
	case "cd":
		a.cd(args, st)
		return text
	case "pushd", "popd":
		a.moved()
	}
	in := &invocation{
		a:      a,
		st:     st,
		name:   program,
		args:   args[1:],
		effect: &e,
	}
	out := in.judge()
	if v := a.inherited(st); v != "" && !slices.Contains(builtins, program) {
		in.unknown("it sets " + v + ", which may change what " + program + " does")
	}
	a.add(e)
	return out
}

// builtins are bash builtins among the known programs. Variables do not affect them.
var builtins = strings.Fields(": [ break continue echo exit false getopts help jobs mapfile printf pwd read readarray return set " +
	"shift shopt test times true type unset wait")

// invocation is a program with its arguments while its effect is determined.
type invocation struct {
	a      *analyzer
	st     *state
	name   string
	args   []arg
	effect *Effect
}

// unknown records why the command may do more than its accesses; the first reason counts.
func (in *invocation) unknown(why string) {
	if in.effect.Unknown == "" {
		in.effect.Unknown = why
	}
}

// uses records that the command uses a file.
func (in *invocation) uses(kind Kind, g arg) {
	for _, v := range g {
		list, ok := in.a.file(kind, in.st, v)
		if !ok || v.inside && kind != Read {
			in.unknown(in.name + " uses a file whose name is only known when it runs")
			continue
		}
		if v.known && slices.Contains(harmlessDevices, v.text) {
			continue
		}
		in.effect.Accesses = append(in.effect.Accesses, list...)
	}
}

// searches records that the command reads everything below a directory.
func (in *invocation) searches(g arg) {
	n := len(in.effect.Accesses)
	in.uses(Read, g)
	for i := range in.effect.Accesses[n:] {
		in.effect.Accesses[n+i].Deep = true
	}
}

// judge determines a program's effect.
func (in *invocation) judge() output {
	if f, ok := special[in.name]; ok {
		return f(in)
	}
	if p, ok := programs[in.name]; ok {
		return in.table(p)
	}
	in.mentions()
	in.formats()
	in.unknown("it runs " + in.name)
	return text
}

// mentions records the paths that an unknown program's words name. The program may write the protected paths among
// them.
func (in *invocation) mentions() {
	for _, g := range in.args {
		for _, v := range g {
			if v.known && !v.glob {
				in.effect.Mentions = append(in.effect.Mentions, in.mentioned(v.text)...)
			}
		}
	}
}

// mentioned returns the paths that a word may name: itself, or an option's value.
func (in *invocation) mentioned(word string) (found []string) {
	candidates := []string{word}
	if _, after, ok := strings.Cut(word, "="); ok {
		candidates = append(candidates, after)
	}
	if len(word) > 2 && word[0] == '-' && word[1] != '-' {
		candidates = append(candidates, word[2:])
	}
	// A program in another language may name it in a string.
	candidates = append(
		candidates,
		strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune(" \t\n'\"`();,<>|&=[]{}", r) })...)
	for _, c := range candidates {
		if rest, ok := strings.CutPrefix(c, "~/"); ok && in.a.Home != "" {
			c = in.a.Home + "/" + rest // as programs understand it
		}
		if c == "" || len(c) > 4096 || strings.ContainsAny(c, "\n\x00") {
			continue
		}
		if list, ok := in.a.file(Write, in.st, exact(strings.TrimPrefix(c, "@"))); ok {
			for _, x := range list {
				found = append(found, x.Path)
			}
		}
	}
	return found
}

// form returns the word's text with 0 for each unknown number, if nothing else in it is unknown.
func (g arg) form() (string, bool) {
	if len(g) != 1 {
		return "", false
	}
	return g[0].shape()
}
