package wire

import "strings"

// Settle makes whole the text, thinking or arguments of part i, for protocols that repeat a part
// when it is complete. What is missing behind what was streamed goes out as a delta; where whole
// differs from what was streamed it replaces it in the part, as the provider's last word. An
// empty whole changes nothing.
func (a *Assembler) Settle(i int, whole string) {
	if whole == "" || !a.valid(i) {
		return
	}
	if rest, ok := strings.CutPrefix(whole, a.SoFar(i)); ok {
		a.Delta(i, rest)
		return
	}
	if b := a.parts[i]; a.grow(max(0, len(whole)-b.text.Len())) {
		b.text.Reset()
		b.text.WriteString(whole)
	}
}

// Drop takes part i out of the response, for a tool call that is known to be cut off.
func (a *Assembler) Drop(i int) {
	if a.valid(i) {
		a.parts[i].open, a.parts[i].absent = false, true
	}
}
