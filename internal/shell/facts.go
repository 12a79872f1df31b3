package shell

import (
	"reflect"

	"mvdan.cc/sh/v3/syntax"
)

// facts are the known facts about a line's variables, wherever it sets them. The order does not matter: a function, a
// loop or a trap may run a part again later. An analysis that learns something new is repeated.
type facts struct {
	learned   bool
	collected map[string]bool // texts whose assignments are known
	vars      map[string][]*syntax.Word
	opaque    map[string]bool   // variables whose values are only known when the line runs
	numbers   map[string]bool   // variables that are assigned by arithmetic
	sources   map[string]output // variables that are read from a command's output
	exports   map[string]bool   // variables that all programs in the line see
	removed   map[string]bool   // functions and variables that the line removes somewhere
	anything  bool              // any variable may have any value, and any function may be gone
	cds       bool              // the line changes its directory somewhere
	reopens   bool              // the line replaces its input somewhere
	ownCD     bool              // the line defines a function cd somewhere
}

func newFacts() facts {
	return facts{
		collected: map[string]bool{},
		vars:      map[string][]*syntax.Word{},
		opaque:    map[string]bool{},
		numbers:   map[string]bool{},

		sources: map[string]output{},
		exports: map[string]bool{},
		removed: map[string]bool{},
	}
}

// learn sets a fact, and records whether it is new.
func (f *facts) learn(fact *bool) {
	if !*fact {
		*fact, f.learned = true, true
	}
}

// note adds a name to a set, and records whether it is new.
func (f *facts) note(set map[string]bool, name string) {
	if !set[name] {
		set[name], f.learned = true, true
	}
}

// reads records that a variable is read from a command's output. A second source makes its value unknown.
func (f *facts) reads(name string, from output) {
	known, ok := f.sources[name]
	switch {
	case from.is(text) || ok && !reflect.DeepEqual(known, from):
		f.note(f.opaque, name)
	case !ok:
		f.sources[name], f.learned = from, true
	}
}

// assigns reports whether the line assigns to a variable.
func (f *facts) assigns(name string) bool {
	_, reads := f.sources[name]
	return len(f.vars[name]) > 0 || f.numbers[name] || reads
}

// escapes records that code runs in the line's own shell that is only known when it runs.
func (a *analyzer) escapes() {
	a.learn(&a.anything)
	a.moved()
}

// moved records that the shell has perhaps changed its directory.
func (a *analyzer) moved() {
	a.learn(&a.cds)
	a.moves++
}
