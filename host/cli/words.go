package cli

import (
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/host/show"
)

// words follows an answer of the main agent while it is streamed. Thinking waits until it is clear whether the model
// says something else: if the first tool call comes before any text, the thinking is what it says.
type words struct {
	show.Speaker
	waiting string // thinking that was not said
	thought bool   // the answer has thinking
	block   bool   // a new block of thinking has started
	calls   bool   // the answer has tool calls
	text    bool   // the answer has text
}

// note applies an event of the main agent, and returns what the model says with it. With fresh, it does not continue
// what was said before in the answer.
func (w *words) note(data event.Data) (say string, fresh bool) {
	w.Speaker.Note(data)
	switch d := data.(type) {
	case event.ModelCallStart:
		w.reset()
	case event.ModelRetry:
		if d.Discard {
			w.reset()
		}
	case event.ReasoningStart:
		w.block = true
	case event.ReasoningDelta:
		w.think(d.Text)
	case event.ArgumentsDelta:
		w.calls = true
	case event.TextDelta:
		fresh = !w.text && w.calls
		w.text, w.waiting = w.text || d.Text != "", ""
		return d.Text, fresh
	}
	if !w.calls || w.text {
		return "", false
	}
	say, w.waiting = w.waiting, ""
	return say, false
}

func (w *words) reset() { *w = words{Speaker: w.Speaker} }

// think adds a piece of thinking.
func (w *words) think(text string) {
	if text == "" || w.text || !w.ThinksAloud() {
		return
	}
	if w.block && w.thought {
		w.waiting += "\n\n"
	}
	w.waiting += text
	w.block, w.thought = false, true
}
