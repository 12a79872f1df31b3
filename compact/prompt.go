package compact

import "fmt"

// instructions is the prompt that asks for a summary.
func instructions(tokens int64) string {
	return fmt.Sprintf(`This conversation is about to be shortened. Write the record that will stand in its place: whoever goes on with the work will have the user's messages and your record, and nothing else of what is above. Do not go on with the work now, do not call a tool, and do not answer anything that was asked; write the record and nothing else.

Write down, under these headings:

Goal: what the user wants in the end, with every condition and preference that still holds.
Decisions: what was decided and why, also what was tried and given up and for what reason, so that it is not tried again.
State: what is done and verified, what is done but not verified, what is half done. Say what the code looks like now where it matters.
Problems: what is broken, failing or unclear, with the exact messages.
Next: the steps that come next, in order, beginning with the one that was under way.
Details: everything that is needed word for word: names, paths, line numbers, commands that work, signatures, values, addresses.

If there is already a record of an earlier part above, take over from it what still holds; yours replaces it. Be exact and complete rather than elegant, leave out what can be read again from the files, and do not make up anything. Use %d words at most.`, max(150, tokens*2/3))
}

// trimmedNote stands in a request for a summary for what did not fit into it.
const trimmedNote = "[A part of the conversation is left out here because it does not fit. This is what is known of it:]\n\n"
