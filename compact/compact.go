// Package compact makes conversations smaller, so that a session can continue when the model's context
// window is full.
//
// The package is pure: it measures a conversation and decides how to shrink it, without I/O, clock or
// randomness, and it never changes its arguments. The caller makes the model call for a summary, records
// the resulting [Edit] and applies it. Applying a recorded edit again gives the same result.
//
// # Methods
//
// Try them in this order, each only if the one before did not reach the [Goal] or cannot be used:
//
//   - [Clear] replaces old tool results with a short note. It needs no model call, and the model can call
//     the tool again.
//   - [Prepare] and [Summary.Finish] replace the older part of the conversation with a summary that the model writes. The
//     request for it is a prefix of the conversation and a prompt, so that most tokens come from the provider's cache, or
//     a shortened copy if that does not fit.
//   - [PrepareServer] and [ServerSummary.Finish] let the provider write the summary, on models that refuse thinking after
//     a summary from elsewhere. The user's messages are then repeated after the kept messages.
//   - [Fallback] replaces the older part with a digest made without a model. It also works on a
//     conversation that has outgrown the window, where the other two may fail.
//
// [Condense] shortens a single large result before it is added to a conversation.
//
// # Kept messages
//
// An edit always makes the conversation smaller, as measured by [Meter.Weigh]. It keeps verbatim:
//
//   - the leading system and developer messages;
//   - the user's newest message, and as many others as their budget allows: the first one, then the
//     newest. The rest is truncated in the middle, with a note;
//   - the plan and the list of changed files, from [Facts] or an earlier summary;
//   - tool calls without a result, with their message;
//   - the last rounds, if the goal allows. The very last one is kept even if the goal is missed,
//     unless that saves too little. Only the content of tool results may be shortened in these messages.
//
// The history stays valid: every call has its result in the next message, no message is empty, and the first message
// after the leading messages is the user's.
//
// # Compacting again
//
// An edit inserts user messages, unchanged, and one summary message. The next compaction treats the
// former like any other user message and merges the latter into the new summary, so that there is never
// more than one.
package compact

import (
	"slices"

	"github.com/reins-agent/reins/llm"
)

// Goal is the size to reach. The zero value is as small as possible.
type Goal struct {
	// Tokens is the maximum size of the conversation, as estimated by [Meter.Estimate].
	Tokens int64
	// Request is the maximum size of the summary request; 0 is no limit. It must leave room in the window for the
	// answer.
	Request int64
}

// Facts are preserved in every summary.
type Facts struct {
	Files []string // changed files, the latest last
	Plan  string   // the latest plan or to-do list
}

// maxFiles is the maximum number of files in Facts.
const maxFiles = 200

// WithFiles returns the facts with more files, as the latest. It keeps the last 200 files.
func (f Facts) WithFiles(names ...string) Facts {
	if len(names) == 0 {
		return f
	}
	files := slices.DeleteFunc(slices.Clone(f.Files), func(name string) bool { return slices.Contains(names, name) })
	files = append(files, names...)
	f.Files = files[max(0, len(files)-maxFiles):]
	return f
}

// Met reports whether the conversation is small enough.
func (g Goal) Met(m Meter, messages []llm.Message) bool {
	return m.Weigh(messages...) <= g.target(m)
}

// target returns the messages' maximum weight.
func (g Goal) target(m Meter) int64 { return max(0, g.Tokens-m.overhead) }

// keptRounds is the number of rounds (an answer and its calls' results) that are kept whole if they fit.
const keptRounds = 3

// share is a way to spend the tokens that remain besides the leading messages.
type share struct {
	rounds   int
	tail     int64 // for the last rounds
	pins     int64 // for older user messages
	body     int64 // for the summary or digest
	facts    int64 // for the plan and the list of files; -1 is no limit
	minFirst int64 // minimum for the user's first message
	minRound int64 // minimum for the last round
}

// shares lists ways to spend room tokens, most generous first.
func shares(room int64) []share {
	pins := min(20_000, room/4)
	return []share{
		{keptRounds, room / 2, pins, min(6000, room/8), -1, 200, 0},
		{1, room / 4, min(pins, room/6), min(4000, room/8), -1, 150, 0},
		{1, room / 8, min(pins, room/12), min(2000, room/12), -1, 100, 0},
		{0, 0, min(pins, room/16), min(500, room/16), -1, 50, 0},
		{0, 0, 0, 0, room * 3 / 8, 0, 0},
	}
}

// sharesWithRound lists the shares, all of which keep at least 500 tokens of the last round.
func sharesWithRound(room int64) []share {
	list := shares(room)
	for i := range list {
		list[i].rounds, list[i].minRound = max(1, list[i].rounds), 500
	}
	return list
}

// worthIt returns the maximum weight after an edit that keeps the last round but misses the goal.
func worthIt(weight int64) int64 { return weight * 3 / 4 }
