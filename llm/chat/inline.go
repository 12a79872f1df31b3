package chat

import "strings"

// Tags around the thinking of models whose server does not split it off.
const (
	thinkStart = "<think>"
	thinkEnd   = "</think>"
)

// inline separates thinking before the text from the text.
type inline struct {
	state inlineState
	held  string // text that may begin a tag
	begun bool   // thinking was returned
}

type inlineState int

const (
	inlineStart inlineState = iota // no text yet
	inlineThinking
	inlineAfter // white space before the answer
	inlineOff
)

// split adds text, and returns the thinking and text known so far.
func (in *inline) split(more string) (thinking, text string) {
	in.held += more
	if in.state == inlineStart {
		head := strings.TrimLeft(in.held, " \t\r\n")
		rest, found := strings.CutPrefix(head, thinkStart)
		switch {
		case found:
			in.state, in.held = inlineThinking, rest
		case strings.HasPrefix(thinkStart, head):
			return "", ""
		default:
			in.state = inlineOff
		}
	}
	if in.state == inlineThinking {
		if !in.begun {
			in.held = strings.TrimLeft(in.held, "\r\n")
		}
		before, after, found := strings.Cut(in.held, thinkEnd)
		if !found {
			n := len(in.held) - partial(in.held, thinkEnd)
			thinking, in.held = in.held[:n], in.held[n:]
			in.begun = in.begun || n > 0
			return thinking, ""
		}
		thinking = before
		in.held = after
		in.state = inlineAfter
	}
	text, in.held = in.held, ""
	if in.state == inlineAfter {
		if text = strings.TrimLeft(text, " \t\r\n"); text != "" {
			in.state = inlineOff
		}
	}
	return thinking, text
}

// flush returns the text that is still held, and switches the splitting off.
func (in *inline) flush() (thinking, text string) {
	held, state := in.held, in.state
	in.held, in.state = "", inlineOff
	if state == inlineThinking {
		return held, ""
	}
	return "", held
}

// partial returns the length of the longest start of tag at the end of text.
func partial(text, tag string) int {
	for n := min(len(tag)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, tag[:n]) {
			return n
		}
	}
	return 0
}
