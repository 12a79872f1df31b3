package term

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/tui/keys"
)

// parse feeds chunks and returns the events; keys by their names.
func parse(p *Parser, chunks ...string) (events []Event) {
	emit := func(e Event) { events = append(events, e) }
	for _, c := range chunks {
		p.Feed([]byte(c), emit)
	}
	for p.Wait() > 0 && !p.stalled {
		p.Timeout(emit)
	}
	return events
}

// describe returns events as text, with keys by their names.
func describe(events []Event) string {
	var list []string
	for _, e := range events {
		if k, ok := e.(keys.Key); ok {
			list = append(list, k.String())
			continue
		}
		list = append(list, fmt.Sprintf("%T%+v", e, e))
	}
	return strings.Join(list, " ")
}

// inputs are what terminals send, and what it means.
var inputs = []struct{ in, want string }{
	{"a", "a"}, {"G", "G"}, {" ", "space"}, {"é", "é"}, {"世", "世"},
	{"\r", "enter"}, {"\n", "ctrl+j"}, {"\t", "tab"}, {"\x7f", "backspace"}, {"\b", "ctrl+h"}, {"\x00", "ctrl+space"},
	{"\x01", "ctrl+a"}, {"\x03", "ctrl+c"}, {"\x1a", "ctrl+z"}, {"\x1c", `ctrl+\`}, {"\x1f", "ctrl+_"},
	{"\x1b", "esc"}, {"\x1b\x1b", "esc esc"}, {"\x1ba", "alt+a"}, {"\x1bA", "alt+shift+a"}, {"\x1b\r", "alt+enter"},
	{"\x1b\x7f", "alt+backspace"}, {"\x1b[", "alt+["}, {"\x1b]", "alt+]"}, {"\x1bO", "alt+shift+o"}, {"\x1bé", "alt+é"},
	{"\x1b[A", "up"}, {"\x1bOA", "up"}, {"\x1b[1;2A", "shift+up"}, {"\x1b[1;5C", "ctrl+right"}, {"\x1b[1;3D", "alt+left"},
	{"\x1b[H", "home"}, {"\x1bOF", "end"}, {"\x1b[1~", "home"}, {"\x1b[4~", "end"}, {"\x1b[5~", "pgup"}, {"\x1b[6;5~", "ctrl+pgdown"},
	{"\x1b[2~", "insert"}, {"\x1b[3~", "delete"}, {"\x1b[3;5~", "ctrl+delete"}, {"\x1b[3^", "ctrl+delete"}, {"\x1b[Z", "shift+tab"},
	{"\x1bOP", "f1"}, {"\x1b[15~", "f5"}, {"\x1b[24~", "f12"}, {"\x1b[1;2P", "shift+f1"}, {"\x1b[[A", "f1"}, {"\x1b[13~", "f3"},
	{"\x1b\x1b[A", "esc up"}, {"\x1bOM", "enter"}, {"\x1bOp", "0"},
	// kitty
	{"\x1b[27u", "esc"}, {"\x1b[13;2u", "shift+enter"}, {"\x1b[13;5u", "ctrl+enter"}, {"\x1b[9;2u", "shift+tab"},
	{"\x1b[106;5u", "ctrl+j"}, {"\x1b[99;6u", "ctrl+shift+c"}, {"\x1b[97;3u", "alt+a"}, {"\x1b[127;5u", "ctrl+backspace"},
	{"\x1b[97;1:3u", ""}, {"\x1b[97;5:2u", "ctrl+a"}, {"\x1b[1089::99;5u", "ctrl+c"}, {"\x1b[32;5u", "ctrl+space"},
	{"\x1b[97:65;2u", "A"}, {"\x1b[57399u", "0"}, {"\x1b[57414u", "enter"}, {"\x1b[57417u", "left"}, {"\x1b[57441u", ""},
	{"\x1b[57376u", "f13"}, {"\x1b[97;9u", "super+a"}, {"\x1b[1;69A", "ctrl+up"}, {"\x1b[99;33u", "alt+c"},
	// modifyOtherKeys
	{"\x1b[27;2;13~", "shift+enter"}, {"\x1b[27;5;106~", "ctrl+j"}, {"\x1b[27;6;65~", "ctrl+shift+a"},
	// pastes
	{"\x1b[200~a\r\nb\rc\x1b[201~", "term.Paste{Text:a\nb\nc}"}, {"\x1b[200~\x1b[31m\x03\x1b[201~x", "term.Paste{Text:\x1b[31m\x03} x"},
	// the mouse and the focus
	{"\x1b[<0;3;4M", "term.Mouse{X:2 Y:3 Button:0 Wheel:0 Mods:0 Press:true Release:false Drag:false}"},
	{"\x1b[<2;1;1m", "term.Mouse{X:0 Y:0 Button:2 Wheel:0 Mods:0 Press:false Release:true Drag:false}"},
	{"\x1b[<32;1;1M", "term.Mouse{X:0 Y:0 Button:0 Wheel:0 Mods:0 Press:false Release:false Drag:true}"},
	{"\x1b[<64;9;9M", "term.Mouse{X:8 Y:8 Button:0 Wheel:-1 Mods:0 Press:false Release:false Drag:false}"},
	{"\x1b[<65;9;9M", "term.Mouse{X:8 Y:8 Button:0 Wheel:1 Mods:0 Press:false Release:false Drag:false}"},
	{"\x1b[I", "term.Focus{In:true}"}, {"\x1b[O", "term.Focus{In:false}"},
	// answers
	{"\x1b[?62;4c", "term.Reply{Query:1 Mode:0 Value:1 Text:}"}, {"\x1b[?5u", "term.Reply{Query:2 Mode:0 Value:5 Text:}"},
	{"\x1b[?2026;2$y", "term.Reply{Query:3 Mode:2026 Value:2 Text:}"}, {"\x1bP>|tmux 3.4\x1b\\", "term.Reply{Query:4 Mode:0 Value:0 Text:tmux 3.4}"},
	{"\x1b]11;rgb:ffff/8080/0000\x07", "term.Background{R:255 G:128 B:0}"}, {"\x1b]11;rgb:f/8/0\x1b\\", "term.Background{R:255 G:136 B:0}"},
	{"\x1b_Gi=31;OK\x1b\\", "term.Reply{Query:5 Mode:0 Value:0 Text:OK}"}, {"\x1b_Gi=7;OK\x1b\\", ""},
	{"\x1b[6;20;10t", "term.Reply{Query:6 Mode:10 Value:20 Text:}"},
	// what means nothing
	{"\x1b]52;c;aGk=\x07a", "a"}, {"\x1b[1;2R", "shift+f3"}, {"\x1b_Gi=1;OK\x1b\\", ""}, {"\x1b[>41;354;0c", ""}, {"\xff\xfe", ""},
	{"\x1b]11;rgb:zz/0/0\x07", ""}, {"\x1b]11;no end\rx", "enter x"}, {"\x1b[12\x03", "ctrl+c"}, {"\x1bP\x18a", "a"},
}

func TestParser_ReadsWhatTerminalsSend(t *testing.T) {
	for _, test := range inputs {
		if got := describe(parse(&Parser{}, test.in)); got != test.want {
			t.Errorf("%q is %q, want %q", test.in, got, test.want)
		}
	}
}

func TestParser_SequencesMayBeSplitAnywhere(t *testing.T) {
	for _, test := range inputs {
		for i := 1; i < len(test.in); i++ {
			if got := describe(parse(&Parser{}, test.in[:i], test.in[i:])); got != test.want {
				t.Errorf("%q and %q is %q, want %q", test.in[:i], test.in[i:], got, test.want)
			}
		}
		var single []string
		for i := range len(test.in) {
			single = append(single, test.in[i:i+1])
		}
		if got := describe(parse(&Parser{}, single...)); got != test.want {
			t.Errorf("the bytes of %q are %q, want %q", test.in, got, test.want)
		}
	}
}

// A slow connection may deliver an answer in two parts with any pause between them.
func TestParser_ALateAnswerIsNeverText(t *testing.T) {
	for _, answer := range []string{"\x1b]11;rgb:1234/1234/1234\x1b\\", "\x1b[?62;22c", "\x1b[?2026;2$y", "\x1bP>|XTerm(370)\x1b\\",
		"\x1b_Gi=31;OK\x1b\\", "\x1b[6;20;10t",
	} {
		for i := 1; i < len(answer)-1; i++ {
			p := &Parser{Asked: true}
			events := parse(p, answer[:i]) // the timeout has passed
			if i == 2 {
				continue // 250 ms after ESC and a key, it was the key
			}
			events = append(events, parse(p, answer[i:])...)
			for _, e := range events {
				if k, ok := e.(keys.Key); ok && k.Text != "" {
					t.Errorf("%q, a pause and %q: typed %q", answer[:i], answer[i:], describe(events))
					break
				}
			}
		}
	}
}

func TestParser_LoneEscIsReportedSoon(t *testing.T) {
	for _, p := range []*Parser{{}, {Asked: true}} {
		var got []Event
		p.Feed([]byte("\x1b"), func(e Event) { got = append(got, e) })
		if w := p.Wait(); len(got) > 0 || w == 0 || w.Milliseconds() > 10 {
			t.Errorf("after ESC: events %v, wait %v; want none yet, and at most 10 ms", got, w)
		}
		p.Feed([]byte("[A"), func(e Event) { got = append(got, e) })
		if describe(got) != "up" || p.Wait() != 0 {
			t.Errorf("with the rest: %s, wait %v; want up and no wait", describe(got), p.Wait())
		}
	}
}

func TestParser_APasteWithoutAnEndNeverSubmitsAndCanBeLeft(t *testing.T) {
	p := &Parser{}
	if got := parse(p, "\x1b[200~one\r"); len(got) > 0 {
		t.Fatalf("an open paste reported %s", describe(got))
	}
	p.Timeout(func(Event) {})
	if got := describe(parse(p, "two\r")); got != "" {
		t.Fatalf("more of it reported %s", got)
	}
	p.Timeout(func(Event) {})
	if got := parse(p, "\x03"); !reflect.DeepEqual(got, []Event{Paste{"one\ntwo\n"}}) {
		t.Errorf("ctrl+c reported %s, want the paste", describe(got))
	}
}

func TestParser_AStringWithoutAnEndIsBounded(t *testing.T) {
	p := &Parser{}
	parse(p, "\x1b]52;c;")
	for range 1000 {
		parse(p, strings.Repeat("A", 1000))
	}
	if n := cap(p.buf); n > 64<<10 {
		t.Errorf("the parser holds %d bytes of a string", n)
	}
	if got := describe(parse(p, "\x1b\\x")); got != "x" {
		t.Errorf("after the end: %q, want x", got)
	}
}

func FuzzParser(f *testing.F) {
	for _, test := range inputs {
		f.Add([]byte(test.in), byte(3))
	}
	f.Fuzz(func(t *testing.T, b []byte, cut byte) {
		whole, split := &Parser{}, &Parser{}
		want := parse(whole, string(b))
		i := min(int(cut), len(b))
		var got []Event
		emit := func(e Event) { got = append(got, e) }
		split.Feed(b[:i], emit)
		split.Feed(b[i:], emit)
		for split.Wait() > 0 && !split.stalled {
			split.Timeout(emit)
		}
		if describe(got) != describe(want) {
			t.Errorf("%q split at %d is %q, want %q", b, i, describe(got), describe(want))
		}
		for _, e := range want {
			if k, ok := e.(keys.Key); ok && strings.ContainsFunc(k.Text, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
				t.Errorf("the key %+v types a control character", k)
			}
		}
	})
}

func BenchmarkParser_PasteOfAMegabyte(b *testing.B) {
	chunk := []byte(strings.Repeat("a line of pasted text\r", 186))
	for b.Loop() {
		p := &Parser{}
		emit := func(Event) {}
		p.Feed([]byte(pasteStart), emit)
		for range 1 << 20 / len(chunk) {
			p.Feed(chunk, emit)
		}
		p.Feed([]byte(pasteEnd), emit)
	}
}
