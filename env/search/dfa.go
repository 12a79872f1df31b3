package search

import (
	"bytes"
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"sort"
	"unicode"
	"unicode/utf8"
)

// dfa says which lines match a pattern, for patterns without a literal to look for. It runs the
// program of the expression as an automaton whose states are made when they are first reached, at
// one table lookup a byte, over many lines in one go. It only says that a line matches, not where.
//
// A state is the set of instructions that are waiting for a character, before those that consume
// nothing are followed, and the kind of the character before. Following them takes the next
// character too, because "$" and "\b" look at it, so a match shows one character late.
type dfa struct {
	prog   *syntax.Prog
	bounds []rune // class i is from bounds[i] up to bounds[i+1]; all its characters act alike
	ascii  [utf8.RuneSelf]int32
	stride int // the classes, and one for the end of a line

	table  []int32 // of state and class: the next state times stride, or one of the marks below
	states []dfaState
	index  map[string]int32
	resets int

	// Working memory of a step.
	seen  []uint32 // by instruction: the step that saw it last
	epoch uint32
	stack []uint32
	next  []uint32
	key   []byte
}

type dfaState struct {
	waiting []uint32 // instructions, sorted
	before  charKind
}

type charKind uint8

const (
	lineStart charKind = iota
	wordChar
	otherChar
)

const (
	unknownState int32 = -1
	matchState   int32 = -2
)

// Bounds on the automaton. One that has to be thrown away too often is slower than package regexp.
const (
	maxProgram = 1000
	maxTable   = 1 << 18
	maxResets  = 16
)

// newDFA returns nil if the expression is too large.
func newDFA(tree *syntax.Regexp) *dfa {
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil || len(prog.Inst) > maxProgram {
		return nil
	}
	d := &dfa{prog: prog, seen: make([]uint32, len(prog.Inst))}
	d.bounds = classBounds(prog)
	d.stride = len(d.bounds) + 1
	for r := range rune(utf8.RuneSelf) {
		d.ascii[r] = int32(d.class(r))
	}
	d.ascii['\n'] = int32(len(d.bounds))
	d.reset()
	return d
}

// classBounds finds where characters begin to act differently.
func classBounds(prog *syntax.Prog) []rune {
	bounds := []rune{0, '0', '9' + 1, 'A', 'Z' + 1, '_', '_' + 1, 'a', 'z' + 1, '\n', '\n' + 1}
	for _, inst := range prog.Inst {
		if inst.Op != syntax.InstRune && inst.Op != syntax.InstRune1 {
			continue
		}
		if len(inst.Rune) == 1 {
			r := inst.Rune[0]
			bounds = append(bounds, r, r+1)
			if syntax.Flags(inst.Arg)&syntax.FoldCase != 0 {
				for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
					bounds = append(bounds, f, f+1)
				}
			}
			continue
		}
		for i := 0; i+1 < len(inst.Rune); i += 2 {
			bounds = append(bounds, inst.Rune[i], inst.Rune[i+1]+1)
		}
	}
	slices.Sort(bounds)
	return slices.Compact(bounds)
}

func (d *dfa) class(r rune) int {
	return sort.Search(len(d.bounds), func(i int) bool { return d.bounds[i] > r }) - 1
}

// reset forgets all states but the first, in which a line begins.
func (d *dfa) reset() {
	d.table, d.states, d.index = d.table[:0], d.states[:0], map[string]int32{}
	d.next = d.next[:0]
	d.state(lineStart)
}

// state gives the state of the instructions in d.next, made if it is new.
func (d *dfa) state(before charKind) int32 {
	slices.Sort(d.next)
	d.next = slices.Compact(d.next)
	d.key = append(d.key[:0], byte(before))
	for _, pc := range d.next {
		d.key = binary.AppendUvarint(d.key, uint64(pc))
	}
	if s, ok := d.index[string(d.key)]; ok {
		return s
	}
	s := int32(len(d.table))
	d.index[string(d.key)] = s
	d.states = append(d.states, dfaState{slices.Clone(d.next), before})
	for range d.stride {
		d.table = append(d.table, unknownState)
	}
	return s
}

// seek gives an offset in the first line at or after pos that matches, or -1. Pos is the start of
// a line. It is false if the pattern makes too many states.
func (d *dfa) seek(buf []byte, pos int) (at int, ok bool) {
	s := int32(0)
	for i := pos; i < len(buf); {
		class, width := int32(0), 1
		if b := buf[i]; b < utf8.RuneSelf {
			class = d.ascii[b]
		} else {
			var r rune
			r, width = utf8.DecodeRune(buf[i:])
			class = int32(d.class(r))
		}
		next := d.table[s+class]
		if next < 0 {
			if next == unknownState {
				next, ok = d.step(s, class)
				if !ok {
					return 0, false
				}
			}
			if next == matchState {
				return i, true
			}
		}
		s = next
		i += width
	}
	if n := len(buf); n > pos && buf[n-1] != '\n' {
		next, ok := d.step(s, int32(len(d.bounds)))
		if !ok || next == matchState {
			return n - 1, ok
		}
	}
	return -1, true
}

// step works out one entry of the table.
func (d *dfa) step(s, class int32) (next int32, ok bool) {
	from := d.states[int(s)/d.stride]
	if len(d.table) > maxTable {
		if d.resets++; d.resets > maxResets {
			return 0, false
		}
		d.reset()
		d.next = append(d.next[:0], from.waiting...)
		s = d.state(from.before)
	}
	next = d.follow(from, class)
	d.table[s+class] = next
	return next, true
}

// follow runs the instructions of a state and of a match that starts here, up to the character of
// the class and over it.
func (d *dfa) follow(from dfaState, class int32) int32 {
	end := int(class) == len(d.bounds)
	var r rune
	after := otherChar
	if !end {
		r = d.bounds[class]
		if syntax.IsWordChar(r) {
			after = wordChar
		}
	}
	flags := emptyFlags(from.before, after, end)
	d.epoch++
	d.next = d.next[:0]
	d.stack = append(append(d.stack[:0], from.waiting...), uint32(d.prog.Start))
	for len(d.stack) > 0 {
		pc := d.stack[len(d.stack)-1]
		d.stack = d.stack[:len(d.stack)-1]
		if d.seen[pc] == d.epoch {
			continue
		}
		d.seen[pc] = d.epoch
		inst := &d.prog.Inst[pc]
		switch inst.Op {
		case syntax.InstMatch:
			return matchState
		case syntax.InstAlt, syntax.InstAltMatch:
			d.stack = append(d.stack, inst.Out, inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			d.stack = append(d.stack, inst.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^flags == 0 {
				d.stack = append(d.stack, inst.Out)
			}
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			if !end && inst.MatchRune(r) {
				d.next = append(d.next, inst.Out)
			}
		}
	}
	if end {
		return 0
	}
	return d.state(after)
}

// emptyFlags tells which conditions hold between two characters of a line.
func emptyFlags(before, after charKind, end bool) syntax.EmptyOp {
	flags := syntax.EmptyNoWordBoundary
	if (before == wordChar) != (after == wordChar) {
		flags = syntax.EmptyWordBoundary
	}
	if before == lineStart {
		flags |= syntax.EmptyBeginLine | syntax.EmptyBeginText
	}
	if end {
		flags |= syntax.EmptyEndLine | syntax.EmptyEndText
	}
	return flags
}

// lineAt gives the bounds of the line that holds offset at; a line feed belongs to the line it
// ends.
func lineAt(buf []byte, low, at int) (start, end int) {
	return low + bytes.LastIndexByte(buf[low:at], '\n') + 1, lineEnd(buf, at)
}
