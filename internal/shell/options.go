package shell

import (
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/lazy"
)

// program describes how a program reads its words, as far as that determines its effect.
type program struct {
	// writes are options that make it write a file or run something else: letters, and long names without dashes. An
	// abbreviated long name counts too.
	writes     string
	writesLong []string
	// outputs are the writes options whose value is a file that the program writes.
	outputs     string
	outputsLong []string
	// values are letters whose option takes the rest of its word, or the next word, as its value.
	values     string
	valuesLong []string
	// files are options whose value is a file to read.
	files     string
	filesLong []string
	// indirect are options that make it read files that another file names, or uncompress them with a program.
	indirect     string
	indirectLong []string
	// operands is how the other words are used.
	operands operands
	// skip is how many operands come before the files, such as a pattern.
	skip int
	// patterns are options whose value replaces the first operand, and patternless are those without a value.
	patterns     string
	patternsLong []string
	patternless  []string
	// visible means that a search leaves out hidden files, unless hidden names an option.
	visible    bool
	hidden     string
	hiddenLong []string
	// lists means that the names in directories are listed, and files are not read.
	lists bool
	// here means that it reads the working directory if it gets no names.
	here bool
	// deep means that directories are searched, and deepIf names the options that make it so.
	deep     bool
	deepIf   string
	deepLong []string
	prints   output
	// filter means that it prints the lines it reads unchanged, unless an option in changes is set.
	filter  bool
	changes string
	// names are options that make it print the names of files.
	names     string
	namesLong []string
	// follows are options that make a search follow symbolic links, and followsAll means that it always does.
	follows     string
	followsLong []string
	followsAll  bool
	// responses means that @name stands for the words in a file.
	responses bool
	// listsLong are options that make it list files without reading them.
	listsLong []string
}

// operands is the meaning of words without a dash.
type operands int

const (
	readFiles operands = iota // files to read
	data                      // plain text
	nothing                   // there should be none
	secondOut                 // the second is a file to write
)

// option is a parsed option.
type option struct {
	letter byte   // 0 for a long option
	long   string // without dashes
	value  arg    // nil without a value
}

// parse splits words into options and operands as getopt does. It reports false if a word may be an option
// that is only known when the command runs.
func (p program) parse(args []arg) (opts []option, rest []arg, certain bool) {
	certain = true
	for i := 0; i < len(args); i++ {
		word, ok := args[i].text()
		if w := args[i].word(); !ok && globValue().MatchString(w) {
			word, ok = w, true // any match is a value for the same option
		}
		if g := args[i]; !ok && len(g) == 1 && !g[0].known && !g[0].many && globValue().MatchString(g[0].text) {
			name, _, _ := strings.Cut(g[0].text[2:], "=")
			opts = append(opts, option{long: name, value: arg{{}}})
			continue
		}
		switch {
		case !ok:
			if args[i].maybeOption() {
				certain = false
			}
			rest = append(rest, args[i])
		case word == "--":
			return opts, append(rest, args[i+1:]...), certain
		case strings.HasPrefix(word, "--"):
			name, value, has := strings.Cut(word[2:], "=")
			o := option{long: name}
			switch {
			case has:
				o.value = literal(value)
			case takesValue(name, p.valuesLong, p.filesLong, p.outputsLong, p.patternsLong) && i+1 < len(args):
				i++
				o.value = args[i]
				rest, certain = p.spills(args[i], rest, certain)
			}
			opts = append(opts, o)
		case len(word) > 1 && word[0] == '-':
			for j := 1; j < len(word); j++ {
				o := option{letter: word[j]}
				if strings.IndexByte(p.values+p.files+p.outputs+p.patterns, word[j]) >= 0 {
					switch {
					case j+1 < len(word):
						o.value = literal(word[j+1:])
					case i+1 < len(args):
						i++
						o.value = args[i]
						rest, certain = p.spills(args[i], rest, certain)
					}
					opts = append(opts, o)
					break
				}
				opts = append(opts, o)
			}
		default:
			rest = append(rest, args[i])
		}
	}
	return opts, rest, certain
}

// spills returns the operands with an option's value if it may become several words, or none. Then the next words may
// be operands or options too.
func (p program) spills(g arg, rest []arg, certain bool) ([]arg, bool) {
	if g.several() && (p.operands == secondOut || slices.ContainsFunc(g, func(v value) bool { return !v.number })) {
		return append(rest, g), false
	}
	return rest, certain
}

// globValue matches an option whose value is an unquoted pattern, such as --include=*.go.
var globValue = lazy.Regexp(`^--[a-z-]+=`)

// takesValue reports whether a long option, perhaps abbreviated, is in any list.
func takesValue(name string, lists ...[]string) bool {
	return slices.ContainsFunc(lists, func(l []string) bool { return named(name, l) })
}

// named reports whether a long option is, or may abbreviate, a name in the list.
func named(name string, list []string) bool {
	return name != "" && slices.ContainsFunc(list, func(n string) bool { return strings.HasPrefix(n, name) })
}

func (o option) in(letters string, long []string) bool {
	if o.letter != 0 {
		return strings.IndexByte(letters, o.letter) >= 0
	}
	return slices.Contains(long, o.long) || named(o.long, long)
}

func (o option) String() string {
	if o.letter != 0 {
		return "-" + string(o.letter)
	}
	return "--" + o.long
}

// dangerous reports whether the program has options that must not be hidden in an unknown word.
func (p program) dangerous() bool {
	return p.writes+p.outputs != "" || len(p.writesLong)+len(p.outputsLong) > 0 || p.operands == secondOut
}

// table determines the effect of a program that is described by a table.
func (in *invocation) table(p program) output {
	opts, rest, certain := p.parse(in.args)
	if !certain && p.dangerous() {
		in.unknown("a name may be an option of " + in.name)
	}
	deep, skip := p.deep, p.skip
	for _, o := range opts {
		switch {
		case o.in(p.outputs, p.outputsLong):
			if o.value != nil {
				in.uses(Write, o.value)
			} else {
				in.unknown(in.name + " " + o.String() + " writes a file")
			}
		case o.in(p.writes, p.writesLong):
			in.unknown(in.name + " " + o.String() + " writes or runs something")
		case o.in(p.indirect, p.indirectLong):
			in.unknown(in.name + " " + o.String() + " reads files that are only known when it runs")
		case o.in(p.files, p.filesLong) && o.value != nil:
			in.uses(Read, o.value)
		}
		if o.in(p.patterns, p.patternsLong) || slices.Contains(p.patternless, o.long) {
			skip = 0
		}
		if o.in(p.deepIf, p.deepLong) || in.recurses(o) {
			deep = true
		}
	}
	p.followsAll = p.followsAll || slices.ContainsFunc(opts, func(o option) bool { return o.in(p.follows, p.followsLong) })
	p.lists = p.lists || slices.ContainsFunc(opts, func(o option) bool { return slices.Contains(p.listsLong, o.long) })
	p.here = p.here && !(len(rest) > 0 && slices.ContainsFunc(opts, func(o option) bool { return o.in("d", []string{"directory"}) }))
	p.visible = p.visible && !slices.ContainsFunc(opts, func(o option) bool { return o.in(p.hidden, p.hiddenLong) && !o.excludes() })
	for _, g := range rest {
		w, _ := g.text()
		if (in.name == "less" || in.name == "more") && (strings.HasPrefix(w, "+") || g[0].glob) {
			in.unknown("a name may be a command of " + in.name)
		}
		if p.responses && strings.HasPrefix(w, "@") {
			in.unknown(in.name + " reads its words from a file")
		}
	}
	n := len(in.effect.Accesses)
	in.operands(p, rest, skip, deep)
	if names := in.chosen(opts); names != nil {
		for i := range in.effect.Accesses[n:] {
			if in.effect.Accesses[n+i].Deep {
				in.effect.Accesses[n+i].Names = names
			}
		}
	}
	out := p.output(opts, len(rest) <= skip, in.st.stdin)
	if out.is(paths) && deep && out.from == nil {
		out.from = starts(rest, skip, !p.followsAll)
	}
	return out
}

// starts returns the origin of names that a search prints.
func starts(rest []arg, skip int, files bool) *origin {
	from := &origin{files: files}
	for _, g := range rest[min(skip, len(rest)):] {
		from.add(g)
	}
	return from.orDot()
}

// parents records that a pattern may match the parent directory, which is searched or listed.
func (in *invocation) parents(g arg) {
	for _, v := range g {
		if up := parents(v.text, true); v.known && v.glob && up != v.text {
			in.uses(Read, arg{{text: up, known: true, glob: hasGlob(up)}})
		}
	}
}

// isGrep reports whether the program is grep under any name.
func (in *invocation) isGrep() bool {
	return in.name == "grep" || in.name == "egrep" || in.name == "fgrep"
}

// recurses reports whether an option makes grep search directories, as -d recurse does.
func (in *invocation) recurses(o option) bool {
	skips := o.value.is("skip") || o.value.is("read")
	return in.isGrep() && o.in("d", []string{"directories"}) && !skips
}

// excludes reports whether an option that chooses files only leaves some out.
func (o option) excludes() bool {
	w, ok := o.value.text()
	return ok && strings.HasPrefix(w, "!")
}

// chosen returns the patterns for the files that a search is restricted to, or nil if it is not.
func (in *invocation) chosen(opts []option) (names []string) {
	for _, o := range opts {
		switch {
		case in.isGrep() && o.in("", []string{"exclude", "exclude-from"}) && len(names) == 0:
			return nil // then all others are included
		case in.isGrep() && o.in("", []string{"include"}), in.name == "rg" && o.in("g", []string{"glob", "iglob"}) && !o.excludes():
			w := o.value.word()
			if len(o.value) == 0 || w == Unset || strings.Contains(w, "/") || o.long == "iglob" {
				return nil
			}
			names = append(names, w)
		case in.name == "rg" && o.in("tT", []string{"type", "type-not", "ignore-file"}):
			return nil
		}
	}
	return withHidden(names)
}

// withHidden adds the hidden names that patterns match where, unlike in a shell, "*" matches a leading dot too.
func withHidden(names []string) (all []string) {
	for _, n := range names {
		all = append(all, n)
		switch {
		case strings.HasPrefix(n, "*"):
			all = append(all, "."+n)
			if rest := strings.TrimLeft(n, "*"); strings.HasPrefix(rest, ".") {
				all = append(all, rest)
			}
		case strings.HasPrefix(n, "?"):
			all = append(all, "."+n[1:])
		case strings.HasPrefix(n, "["):
			all = append(all, ".*")
		}
	}
	return all
}

// output returns a program's output.
func (p program) output(opts []option, piped bool, stdin output) output {
	switch {
	case slices.ContainsFunc(opts, func(o option) bool { return o.in(p.names, p.namesLong) }):
		if slices.ContainsFunc(opts, func(o option) bool { return o.letter == 0 && !slices.Contains(plainNames, o.long) }) {
			return text
		}
		return paths
	case p.filter && piped && !stdin.is(zeroed) && !slices.ContainsFunc(opts, func(o option) bool { return o.in(p.changes, nil) || o.letter == 0 }):
		return stdin
	case p.prints.is(numbers) && (p.operands == data && len(opts) > 0 || p.operands != data && !piped),
		p.prints.is(paths) && slices.ContainsFunc(opts, func(o option) bool { return o.in(p.changes, nil) || o.letter == 0 }):
		return text
	}
	return p.prints
}

// plainNames are long options with which a search still prints names only.
var plainNames = []string{
	"files-with-matches", "files-without-match", "files", "include", "exclude", "exclude-dir", "recursive",
	"glob", "iglob", "type", "type-not", "hidden", "no-ignore", "ignore-case", "fixed-strings", "word-regexp",
	"max-depth", "sort", "regexp", "name-only", "cached", "others", "modified", "exclude-standard",
	"diff-filter", "staged", "merge-base",
}

// operands records a program's effect on the words that are not options.
func (in *invocation) operands(p program, rest []arg, skip int, deep bool) {
	if skip > 0 && len(rest) > 0 && rest[0].several() {
		skip = 0 // the pattern may be one word or many
	}
	rest = rest[min(skip, len(rest)):]
	switch p.operands {
	case data:
		return
	case nothing:
		if len(rest) > 0 {
			in.unknown(in.name + " changes something if it gets a name")
		}
		return
	case secondOut:
		for i, g := range rest {
			if g.several() || g[0].glob {
				in.unknown("a name may be the output file of " + in.name)
			}
			if i == 1 {
				in.uses(Write, g)
			} else {
				in.uses(Read, g)
			}
		}
		return
	}
	if len(rest) == 0 && in.name == "rg" && in.st.piped && !p.lists {
		return // it searches its input
	}
	if (deep || p.here) && len(rest) == 0 {
		rest = []arg{literal(".")}
	}
	for _, g := range rest {
		if deep || p.lists || p.here {
			in.parents(g)
		}
		if deep && !p.lists {
			n := len(in.effect.Accesses)
			in.searches(g)
			for i := range in.effect.Accesses[n:] {
				in.effect.Accesses[n+i].Visible = p.visible
				in.effect.Accesses[n+i].Follow = in.effect.Accesses[n+i].Follow || p.followsAll
			}
		} else if !g.is("-") {
			in.uses(Read, g)
		}
	}
}
