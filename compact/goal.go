package compact

import (
	"slices"

	"github.com/reins-agent/reins/llm"
)

// Goal says what a conversation is to come down to. The zero value is as little as possible.
type Goal struct {
	// Tokens is what the conversation may take, as [Meter.Estimate] gives it.
	Tokens int64
	// Request is what the request for a summary may take; 0 is no limit. The answer needs room in
	// the window beside it.
	Request int64
	// Rounds is how many of the last rounds (an answer of the model and the results of its calls)
	// are kept whole where Tokens allows; 0 is 3, and less than 0 none. The last one is kept with
	// its results shortened if there is room for no more.
	Rounds int
	// Pins is how many tokens the user's messages may take that stand in the part which is
	// replaced, the newest message aside; 0 is a quarter of Tokens, and 20,000 at most. Less than
	// 0 is none.
	Pins int64
}

// Facts is what the agent knows of its work and a summary must not lose.
type Facts struct {
	Files []string // that were touched, the latest last
	Plan  string   // the latest plan or todo list
}

// maxFiles bounds the files in Facts.
const maxFiles = 200

// WithFiles returns the facts with more files as the latest ones. It keeps the last 200 files.
func (f Facts) WithFiles(names ...string) Facts {
	if len(names) == 0 {
		return f
	}
	files := slices.DeleteFunc(slices.Clone(f.Files), func(name string) bool { return slices.Contains(names, name) })
	files = append(files, names...)
	f.Files = files[max(0, len(files)-maxFiles):]
	return f
}

const (
	standardRounds = 3
	standardPins   = 20_000
)

// Met reports whether the conversation is small enough.
func (g Goal) Met(m Meter, messages []llm.Message) bool {
	return m.Weigh(messages...) <= g.target(m)
}

// target is what the messages alone may take.
func (g Goal) target(m Meter) int64 { return max(0, g.Tokens-m.overhead) }

func (g Goal) rounds() int {
	if g.Rounds == 0 {
		return standardRounds
	}
	return max(0, g.Rounds)
}

// share says how a part of the goal is spent. The shares are of what is left beside the leading
// messages.
type share struct {
	rounds        int
	tail          int64 // for the last rounds
	pins          int64 // for the user's messages
	body          int64 // for the summary or the digest
	files         int64 // for the list of files, -1 is no limit
	plan          int64 // for the plan, -1 is no limit
	shortestFirst int64 // what is left of the user's first message when there is no room for it
	least         int64 // what the last round may take in any case
}

// shares lists ways to spend so many tokens, from the one that keeps most to the one that keeps
// nothing but pins, and the pins cut short but for the user's newest message.
func (g Goal) shares(room int64) []share {
	pins := g.Pins
	if pins == 0 {
		pins = min(standardPins, room/4)
	}
	pins = max(0, pins)
	return []share{
		{g.rounds(), room / 2, pins, min(6000, room/8), -1, -1, 200, 0},
		{min(1, g.rounds()), room / 4, min(pins, room/6), min(4000, room/8), -1, -1, 150, 0},
		{min(1, g.rounds()), room / 8, min(pins, room/12), min(2000, room/12), -1, -1, 100, 0},
		{0, 0, min(pins, room/16), min(500, room/16), -1, -1, 50, 0},
		{0, 0, 0, 0, room / 8, room / 4, 0, 0},
	}
}

// leastRound is what the last round may take, in tokens, however small the goal is.
const leastRound = 500

// keeping lists the shares with the last round kept in all of them; none if no rounds are wanted.
func (g Goal) keeping(room int64) []share {
	if g.rounds() == 0 {
		return nil
	}
	shares := g.shares(room)
	for i := range shares {
		shares[i].rounds, shares[i].least = max(1, shares[i].rounds), leastRound
	}
	return shares
}

// worthIt is what a conversation may weigh at most after an edit that keeps the last round although
// the goal is missed.
func worthIt(weight int64) int64 { return weight * 3 / 4 }
