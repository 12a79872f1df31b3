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

// dfa finds lines that match a pattern without literals. It runs the compiled expression as a lazily
// built automaton, with one table lookup per byte, over many lines at once. It reports that a line
// matches, not where.
//
// A state is the set of instructions that wait for a character, before empty-width instructions are followed, and the
// kind of the previous character. Following those needs the next character, because "$" and "\b" look at it, so a match
// is seen one character late.
type dfa struct {
	prog   *syntax.Prog
	bounds []rune // class i is the range from bounds[i] to bounds[i+1]; its characters are equivalent
	ascii  [utf8.RuneSelf]int32
	stride int // number of classes, plus one for the line end

	table  []int32 // by state and class: the next state's offset, or a constant below
	states []dfaState
	index  map[string]int32
	resets int

	// Buffers of step.
	seen  []uint32 // by instruction: the last epoch that visited it
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

// Limits for the automaton. An automaton that is reset too often is slower than package regexp.
const (
	maxProgram = 1000
	maxTable   = 1 << 18
	maxResets  = 16
)

// newDFA returns a dfa, or nil if the expression is too large.
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

// classBounds returns the boundaries between classes of equivalent characters.
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

// reset drops all states except the first, where a line starts.
func (d *dfa) reset() {
	d.table = d.table[:0]
	d.states = d.states[:0]
	d.index = map[string]int32{}
	d.next = d.next[:0]
	d.state(lineStart)
}

// state returns the state for the instructions in d.next, creating it if needed.
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

// seek returns an offset in the first matching line at or after pos, or -1. pos must be where a line starts. It reports
// false if the pattern has too many states.
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

// step computes one table entry.
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

// follow runs a state's instructions, and a match that starts here, over one character in the class.
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

// emptyFlags returns the empty-width conditions that hold between two characters in a line.
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

// lineAt returns the bounds of the line at an offset. A line feed belongs to the line it ends.
func lineAt(buf []byte, low, at int) (start, end int) {
	return low + bytes.LastIndexByte(buf[low:at], '\n') + 1, lineEnd(buf, at)
}
