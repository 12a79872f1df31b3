// Package shell determines a command line's effects, without running it.
//
// [Analyze] parses a line once, as bash would, and returns an [Effect] for every command that bash might execute: each
// stage in a pipeline, a loop body, the inside of a substitution, and the command behind a wrapper such as env, timeout
// or sh -c. Each effect lists the files that the command reads, writes and deletes. If more may happen, or the analysis
// cannot tell, Unknown gives the reason. An effect is never left out: anything that cannot be analysed is unknown.
package shell

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/lazy"
)

// Kind is the kind of a file access.
type Kind string

// The kinds of accesses.
const (
	Read   Kind = "read"
	Write  Kind = "write"
	Delete Kind = "delete"
)

// Access is a file or directory that a command uses.
type Access struct {
	Kind Kind
	// Path is absolute; a pattern if Glob is set. It may contain "..", which the system resolves after links. If a
	// path to delete ends in a slash, a link is followed.
	Path string
	Glob bool
	// Deep means everything below a directory too.
	Deep bool
	// Visible means that hidden files below are left out.
	Visible bool
	// Names are patterns for the files below that are used. None means all.
	Names []string
	// Follow means that symbolic links below are followed.
	Follow bool
	// Split means that the names below are split at blanks, and may lose quotes and backslashes.
	Split bool
	// Whole means that a whole file or directory is deleted or moved away.
	Whole bool
}

// Effect is one command's effect in a line.
type Effect struct {
	// Words are the command and its arguments without quotes, with wrappers removed. A word that is only
	// known when the line runs is [Unset].
	Words []string
	// Outer are the same words with their wrappers, outermost first, such as "sudo rm x" for "rm x".
	Outer [][]string
	// Also are further forms of the words, without options that do not change which command it is.
	Also [][]string
	// Accesses are the files that the command uses.
	Accesses []Access
	// Unknown says why the command may do more than its accesses. It is empty if they are all it does.
	Unknown string
	// Confined means that the command only reads where the system permits nothing else: it may run programs that
	// project files name, and it writes its own caches.
	Confined bool
	// Opaque means that it is not even known which programs run.
	Opaque bool
	// Mentions are paths that the words name, if the command's use of them is unknown.
	Mentions []string
	// Copies are sources and targets of copied or moved files, which may be directories.
	Copies [][2]string
	// Repos are directories whose git configuration the command uses.
	Repos []string
	// Endless is why the command starts processes without end, as a fork bomb does. It is empty for other commands.
	Endless string
}

// Unset stands for a word that is only known when the line runs.
const Unset = "\x00"

// Options describe where a command line runs.
type Options struct {
	Dir   string    // the working directory, absolute
	Home  string    // the user's home directory; "" if unknown
	Paths env.Paths // the environment's path rules
	Shell string    // the program that runs the line; "" is bash
}

// Limits for a line. Longer lines are refused rather than analysed in part.
const (
	maxLine  = 256 << 10
	maxDepth = 40      // nested scripts, such as sh -c in sh -c
	maxWork  = 200_000 // words and statements that are looked at, some of them several times
	// maxRounds bounds how often a line is analysed until nothing new is learned about its variables.
	maxRounds = 12
)

// tables are filled by the first analysis, because filling them would slow down every start of a program.
var tables sync.Once

func fill() { tables.Do(func() { fillPrograms(); fillSpecial(); fillWrappers() }) }

// Analyze returns a command line's effects. It returns an error if the line cannot be parsed, or if different shells
// may read it differently.
func Analyze(line string, o Options) ([]Effect, error) {
	if !readable(line, o.Shell) {
		return nil, fmt.Errorf("%s may parse this differently than bash", o.Shell)
	}
	fill()
	a := newAnalyzer(o)
	for range maxRounds {
		a.effects = nil
		a.moves = 0
		a.learned = false
		err := a.script(line, &state{dirs: []string{o.Dir}, scope: &scope{}})
		switch {
		case err != nil:
			return a.effects, err
		case a.work > maxWork:
			return a.effects, errTooComplex
		case !a.learned:
			return a.effects, nil
		}
	}
	return a.effects, errTooComplex
}

var errTooComplex = errors.New("command too complex to analyze")

// Commands returns a line's commands for display, one for each effect that has words. A word that is only known when
// the line runs is shown as "?". It returns nil if the line cannot be parsed.
func Commands(line string) (list []string) {
	effects, err := Analyze(line, Options{Dir: "/"})
	if err != nil {
		return nil
	}
	for _, e := range effects {
		if len(e.Words) > 0 {
			list = append(list, strings.ReplaceAll(strings.Join(e.Words, " "), Unset, "?"))
		}
	}
	return list
}

// analyzer collects the effects of one line.
type analyzer struct {
	Options
	facts
	effects   []Effect
	depth     int
	moves     int      // how often this shell has perhaps changed its directory
	resolving []string // variables whose values are being computed
	work      int      // how many words and statements were looked at
}

func newAnalyzer(o Options) *analyzer {
	return &analyzer{Options: o, facts: newFacts()}
}

// state is where and with which input a command runs.
type state struct {
	dirs  []string // the possible working directories; nil if unknown
	stdin output
	piped bool       // its input is a pipe
	outer [][]string // wrappers around the command
	env   []string   // variables that are set in its environment only
	scope *scope
}

func (s *state) with(dirs []string) *state { c := *s; c.dirs = dirs; return &c }

// perhaps returns the state for a part that may not run, or runs in another process.
func (s *state) perhaps() *state { c := *s; c.scope = &scope{up: s.scope}; return &c }

// within returns the state for a part that may not run, and only after everything in a scope.
func (s *state) within(sc *scope) *state { c := *s; c.scope = &scope{up: sc}; return &c }

// scope is what has certainly happened before a command runs.
type scope struct {
	up       *scope
	funcs    []string // functions that were defined
	assigned []string // variables that were assigned
}

func (sc *scope) defines(name string) bool {
	return sc != nil && (slices.Contains(sc.funcs, name) || sc.up.defines(name))
}

func (sc *scope) assigns(name string) bool {
	return sc != nil && (slices.Contains(sc.assigned, name) || sc.up.assigns(name))
}

// script analyses a script's text.
func (a *analyzer) script(text string, st *state) error {
	if err := plain(text); err != nil {
		return err
	}
	if a.depth++; a.depth > maxDepth {
		return errors.New("too many nested shells")
	}
	defer func() { a.depth-- }()
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		var parse syntax.ParseError
		if errors.As(err, &parse) {
			return fmt.Errorf("it cannot be parsed: %s", parse.Text)
		}
		return fmt.Errorf("it cannot be parsed: %w", err)
	}
	if first := a.depth == 1; !a.collected[text] {
		a.collected[text], a.learned = true, !first || a.learned
		a.collect(f)
	}
	a.stmts(f.Stmts, st)
	return nil
}

// plain rejects text that shells may read differently from how it looks.
func plain(text string) error {
	switch {
	case len(text) > maxLine:
		return fmt.Errorf("it is longer than %d bytes", maxLine)
	case !utf8.ValidString(text):
		return errors.New("it is not valid UTF-8")
	}
	for _, r := range text {
		switch {
		case r == '\n' || r == '\t':
		case r < 0x20 || r == 0x7f || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r):
			return fmt.Errorf("it contains the invisible character U+%04X", r)
		case unicode.Is(unicode.Zs, r) && r != ' ':
			return fmt.Errorf("it contains the space U+%04X, which shells do not treat as one", r)
		}
	}
	return nil
}

func (a *analyzer) add(e Effect) { a.effects = append(a.effects, e) }

// unclear records that something runs which cannot be named.
func (a *analyzer) unclear(why string, args ...any) {
	a.add(Effect{Words: []string{Unset}, Unknown: fmt.Sprintf(why, args...), Opaque: true})
}

// unsafe records that a shell feature may do more than the commands themselves.
func (a *analyzer) unsafe(why string, args ...any) {
	a.add(Effect{Unknown: fmt.Sprintf(why, args...)})
}

// file returns the accesses to a path as written, one for each directory the command may run in, or false if
// the path is unknown.
func (a *analyzer) file(kind Kind, st *state, v value) ([]Access, bool) {
	switch {
	case v.stream:
		return nil, true
	case v.cut:
		return nil, false
	case v.inside:
		list := a.below(kind, st, v)
		return list, len(list) > 0
	case !v.known:
		return nil, false
	case v.text == "":
		return nil, true
	}
	dirs := st.dirs
	if a.Paths.IsAbs(v.text) {
		dirs = []string{""}
	}
	var list []Access
	for _, d := range dirs {
		path := a.abs(d, v.text)
		if kind == Delete && !v.glob && (strings.HasSuffix(v.text, "/") || strings.HasSuffix(v.text, "/.")) {
			path = strings.TrimSuffix(path, "/") + "/"
		}
		list = append(list, Access{Kind: kind, Path: path, Glob: v.glob})
		if up := parents(v.text, false); v.glob && up != v.text {
			list = append(list, Access{Kind: kind, Path: a.abs(d, up), Glob: strings.ContainsAny(up, "*?[")})
		}
	}
	return list, len(list) > 0
}

// parents returns a pattern with ".." for each element that older shells match it with, such as ".*", apart from the
// last one unless that counts too.
func parents(pattern string, last bool) string {
	elements := strings.Split(pattern, "/")
	for i, e := range elements {
		if (last || i < len(elements)-1) && up().MatchString(e) {
			elements[i] = ".."
		}
	}
	return strings.Join(elements, "/")
}

// up matches a pattern element that may match "..".
var up = lazy.Regexp(`^\.(\.?[*?]+|[*?]*\.[*?]*|\[.*)$`)

// below returns the accesses to the files that a name may be.
func (a *analyzer) below(kind Kind, st *state, v value) []Access {
	from := v.from
	if from == nil {
		from = &origin{starts: []string{"."}}
	}
	var list []Access
	for _, d := range st.dirs {
		for _, s := range from.starts {
			base := d
			if a.Paths.IsAbs(s) {
				base = ""
			}
			list = append(list, Access{
				Kind:   kind,
				Path:   a.abs(base, s),
				Deep:   true,
				Names:  from.names,
				Follow: !from.files,
				Split:  !v.dotted,
			})
		}
	}
	return list
}

// abs returns the path of a name in a directory. A ".." after another name stays: if that name is a link, ".." means
// its target's parent.
func (a *analyzer) abs(dir, name string) string {
	if dir != "" {
		name = strings.TrimSuffix(dir, "/") + "/" + name
	}
	if !strings.Contains(name, "..") {
		return a.Paths.Clean(name)
	}
	return name
}

// union returns the directories of both; unknown wins.
func union(a, b []string) []string {
	if a == nil || b == nil {
		return nil
	}
	for _, d := range b {
		if !slices.Contains(a, d) {
			a = append(slices.Clone(a), d)
		}
	}
	if len(a) > 8 {
		return nil
	}
	return a
}
