// Package compact makes conversations smaller, so that a session does not end where the model's
// context window does.
//
// It is pure: it measures a conversation and says how to shrink it, and does nothing else. There is
// no I/O in it, no clock and no randomness, and it never changes what it is given. Whoever drives it
// makes the model call that a summary takes, records the [Edit] that comes out, and applies it;
// applying the recorded edit to the recorded conversation gives the same result on every resume.
//
// # Three ways down
//
// They are meant to be tried in this order, each only if the one before did not reach the [Goal]:
//
//   - [Clear] replaces old tool results by a line that says what was there. It costs no model call
//     and loses nothing that the model cannot ask for again.
//   - [Prepare] and [Summary.Finish] replace the older part of the conversation by a summary that a
//     model writes. The request for it is the conversation's own prefix with a prompt behind it, so
//     that the provider's cache pays for most of it, or a trimmed copy if that does not fit.
//   - [Fallback] replaces it by a mechanical digest. It needs no model and works on a conversation
//     that has outgrown the window, which is where the other two may fail.
//
// [Condense] is for a single result that is too large, before it comes into the conversation.
//
// # What an edit keeps
//
// The result weighs less than the conversation before, by [Meter.Weigh], or there is no edit. These
// stand in it verbatim:
//
//   - the leading system and developer messages;
//   - the user's newest message, and the others as far as their budget goes, newest first and the
//     very first before the rest; what does not fit is cut in its middle, and says so;
//   - the plan and the list of touched files, as [Facts] has them or an earlier summary had;
//   - tool calls that have no result yet, with the message they are in;
//   - the last rounds, where the goal allows, and the very last one also where it does not, unless
//     next to nothing would be saved. Messages that are kept are kept whole, thinking and
//     opaque parts included; only the content of tool results may be shortened in them.
//
// The history stays valid: every call keeps its result in the message behind it, no message is empty,
// and what follows the leading messages begins with the user.
//
// # Compacting again
//
// The messages that an edit puts in are the user's own messages, as they were, and one message that
// [IsSummary] recognises. The next compaction takes the former for what they are and folds the latter
// into the new summary, so that there is never more than one, and what was pinned stays pinned.
package compact
