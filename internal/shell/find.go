package shell

import (
	"slices"
	"strings"
)

// findValues are tests and options of find with a value that does not matter.
var findValues = strings.Fields(
	"-D -iname -path -ipath -wholename -iwholename -regex -iregex -xtype -size -mtime -atime -ctime -mmin -amin -cmin " +
		"-maxdepth -mindepth -user -group -uid -gid -perm -links -inum -lname -ilname -fstype -regextype -used -context",
)

// findPlain are those without a value.
var findPlain = strings.Fields("-print -prune -quit -depth -d -xdev -mount -daystart -empty -true -false -readable -writable -executable " +
	"-nouser -nogroup -a -and -noleaf -warn -nowarn -ignore_readdir_race -E -X -s -x )")

// find reads directories. Its actions may run commands and change files.
func (in *invocation) find() output {
	f := &finder{invocation: in, out: paths}
	for f.at < len(in.args) {
		f.word(f.next())
	}
	starts := f.from.starts
	if len(starts) == 0 {
		starts = []arg{literal(".")}
	}
	for _, s := range starts {
		in.uses(Read, s)
	}
	if f.mixed {
		return text
	}
	f.out.from = f.from.origin()
	return f.out
}

// finder walks a find command's words.
type finder struct {
	*invocation
	at      int // the next word
	from    tests
	started bool   // a test or an action has come; directories cannot follow
	out     output // what it prints
	mixed   bool   // it prints something else too
}

// next returns the next word, or an empty one at the end.
func (f *finder) next() arg {
	if f.at++; f.at <= len(f.args) {
		return f.args[f.at-1]
	}
	return literal("")
}

// value returns the next word as a test's value. If it may become several words, one may be an action.
func (f *finder) value() arg {
	g := f.next()
	if g.several() && g.couldBe(findWidens) {
		f.unknown("a name may be an action of find")
	}
	return g
}

// word handles one word with its value.
func (f *finder) word(g arg) {
	word, ok := g.text()
	switch {
	case !ok:
		// A name from an expansion may be an action; after a test it is its value.
		if g.maybeOption() || f.started && g.several() {
			f.unknown("a name may be an action of find")
		}
		f.start(g)
		f.from.unsure = f.from.unsure || g.several()
	case word == "-H" || word == "-L" || word == "-P":
		f.from.follows = f.from.follows || word != "-P"
	case word == "-not" || word == "!":
		f.from.negated = true
	case !f.test(word) && !f.action(word) && !strings.HasPrefix(word, "-") && !f.started:
		f.start(g)
	default:
		f.started, f.from.negated = true, false
	}
}

// start records a directory to search, unless directories can no longer follow.
func (f *finder) start(g arg) {
	if !f.started {
		f.from.starts = append(f.from.starts, g)
	}
}

// test handles a test, an operator or an option, and reports whether the word is one.
func (f *finder) test(word string) bool {
	switch {
	case word == "-name":
		f.from.name(f.value().word())
	case word == "-type":
		f.from.regular = f.value().is("f") && !f.from.negated && f.from.alternatives == 0
	case word == "-newer" || word == "-anewer" || word == "-cnewer" || word == "-samefile":
		f.uses(Read, f.value())
		f.narrows(word)
	case slices.Contains(findValues, word), strings.HasPrefix(word, "-newer"):
		f.value()
		f.narrows(word)
	case word == "-follow":
		f.from.follows = true
	case word == "(" || word == ",":
		f.from.unsure = f.from.unsure || f.from.negated || word == ","
	case word == "-o" || word == "-or":
		f.from.or()
	case slices.Contains([]string{"-empty", "-nouser", "-nogroup", "-false"}, word):
		f.narrows(word)
	case slices.Contains(findPlain, word), strings.HasPrefix(word, "-O") && !f.started:
	default:
		return false
	}
	return true
}

// narrows records that a test leaves files out, unless it is negated or only about where find looks.
func (f *finder) narrows(word string) {
	if !f.from.negated && !slices.Contains([]string{"-D", "-maxdepth", "-mindepth", "-regextype", "-fstype"}, word) {
		f.from.narrow = true
	}
}

// action handles an action, and reports whether the word is one. A word with a dash that is not known counts.
func (f *finder) action(word string) bool {
	switch word {
	case "-print0":
		f.out = zeroed
		return true
	case "-ls":
	case "-printf":
		f.value()
	case "-fprint", "-fprint0", "-fls":
		f.uses(Write, f.next())
	case "-fprintf":
		f.uses(Write, f.next())
		f.next()
	case "-exec", "-execdir", "-ok", "-okdir":
		f.exec(word)
	case "-delete":
		f.unknown("find -delete deletes files")
		n := len(f.effect.Accesses)
		for _, s := range f.from.starts {
			if text, ok := s.text(); ok && f.from.follows {
				s = literal(text + "/")
			}
			f.uses(Delete, s)
		}
		if len(f.from.starts) == 0 && !f.from.narrow {
			f.uses(Delete, literal("."))
		}
		for i := range f.effect.Accesses[n:] {
			f.effect.Accesses[n+i].Whole = !f.from.narrow
		}
		return true
	case "-files0-from":
		f.uses(Read, f.next())
		f.unknown("find reads where to start from a file")
		return true
	default:
		if strings.HasPrefix(word, "-") {
			f.unknown("find " + word + " is not known")
			return true
		}
		return false
	}
	f.mixed = true
	return true
}

// exec analyses the command of -exec and the like.
func (f *finder) exec(action string) {
	var command []arg
	for f.at < len(f.args) {
		g := f.next()
		if g.is(";") || g.is("+") && len(command) > 0 && command[len(command)-1].is("{}") {
			break
		}
		command = append(command, g)
	}
	st := *f.st
	if strings.HasSuffix(action, "dir") {
		st.dirs = nil // it runs in the directory of each file
	}
	f.inner(command, f.from.origin(), st)
}

// tests are a find command's tests, as far as they restrict the file names.
type tests struct {
	starts       []arg
	names        []string
	named        bool // the current alternative restricts the name
	unnamed      bool // an earlier one does not
	alternatives int
	negated      bool // the next test is negated
	regular      bool // all are regular files
	follows      bool // links are followed
	unsure       bool
	narrow       bool // a test leaves files out for more than their type or depth
}

func (x *tests) name(pattern string) {
	x.narrow = x.narrow || !x.negated && strings.Trim(pattern, "*") != ""
	if !x.negated && pattern != Unset {
		x.names, x.named = append(x.names, pattern), true
	}
}

// or begins another alternative.
func (x *tests) or() {
	x.unnamed = x.unnamed || !x.named
	x.named = false
	x.regular = false
	x.alternatives++
}

// origin returns the known facts about the names, or nil.
func (x *tests) origin() *origin {
	o := &origin{files: x.regular && !x.follows && !x.unsure, all: !x.narrow}
	if x.named && !x.unnamed && !x.unsure && !x.follows { // a linked directory may have any name
		o.names = withHidden(x.names)
	}
	for _, g := range x.starts {
		o.add(g)
	}
	return o.orDot()
}

// add adds a directory that names are below. If it is not known, nothing is known about the names.
func (o *origin) add(g arg) {
	s, ok := g.text()
	if !ok {
		s = ""
	}
	o.starts = append(o.starts, s)
}

// orDot returns the origin with the working directory if it has no other, or nil if a directory is not known.
func (o *origin) orDot() *origin {
	switch {
	case slices.Contains(o.starts, ""):
		return nil
	case len(o.starts) == 0:
		return &origin{starts: []string{"."}, names: o.names, files: o.files, all: o.all}
	}
	return o
}

// inner analyses the command of find -exec with a name in place of {}.
func (in *invocation) inner(command []arg, from *origin, st state) {
	if len(command) == 0 {
		in.unknown("find runs a command that cannot be found")
		return
	}
	list := slices.Clone(command)
	for i, g := range list {
		if w, ok := g.text(); ok && strings.Contains(w, "{}") {
			list[i] = arg{replaced(w, "{}", output{dotted.kind, from}.value())}
		}
	}
	st.outer = append(slices.Clone(in.st.outer), in.effect.Words)
	in.a.run(list, &st)
}
