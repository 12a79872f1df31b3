// Package patch reads patches in the v4a format, the input of the apply_patch
// tool, and works out what they do to files. It touches no disk: [Patch.Plan]
// reads through a [Source] and returns the complete list of operations, which
// the caller carries out, all or none.
//
// # Format
//
//	*** Begin Patch
//	*** Add File: path          every line of the new file follows with a +
//	*** Delete File: path
//	*** Update File: path
//	*** Move to: new path       optional, renames the updated file
//	@@ hint                     optional; a line above the change
//	 context                     lines with a space stay, - go, + come
//	-old
//	+new
//	*** End of File             optional; the hunk ends where the file does
//	*** End Patch
//
// The parser forgives what models do: a here-document around the patch, white
// space around the patch and its markers, CRLF line endings, a first hunk
// without @@, empty lines that lack their leading space, and several @@ lines
// in a row, each of which is looked for below the one before.
//
// # Finding the place
//
// Hunks apply in order, each below the one before. A hunk's context and
// removed lines are looked for exactly, then without trailing white space,
// then without white space at both ends, then with look-alike characters made
// equal, and the first place of the first comparison that finds one is taken.
// When there were others and neither a hint nor an earlier hunk decided, the
// plan says so and names the lines. Lines under a hunk that has neither context
// nor removed lines go to the end of the file.
//
// # Writing
//
// Only removed lines leave a file and only added lines enter it; context stays
// as it is in the file even when it matched loosely. Added lines get the ending
// of the file's first line and the file's encoding. An updated file always ends
// with a line ending: a missing one is added.
package patch

// A Patch is a parsed patch.
type Patch struct {
	// Environment is the value of an "*** Environment ID:" line, if any.
	Environment string
	// Ops are the operations in order.
	Ops []Op
}

// An Op is one operation of a patch: [Add], [Delete] or [Update]. Paths are as
// written, absolute or with parent references; judging them is up to the
// caller.
type Op interface {
	path() string
	line() int
}

// Add creates a file, or replaces one.
type Add struct {
	Path    string
	Content string // lines, each ending with LF
	Line    int    // of the patch, from 1
}

// Delete removes a file.
type Delete struct {
	Path string
	Line int
}

// Update changes a file and may rename it.
type Update struct {
	Path   string
	MoveTo string // empty when the file keeps its name
	Hunks  []Hunk // at least one
	Line   int
}

func (o Add) path() string    { return o.Path }
func (o Delete) path() string { return o.Path }
func (o Update) path() string { return o.Path }

func (o Add) line() int    { return o.Line }
func (o Delete) line() int { return o.Line }
func (o Update) line() int { return o.Line }

// A Hunk is one run of changed lines with their context.
type Hunk struct {
	Hints     []string   // the texts of its @@ lines, empty ones left out
	Lines     []HunkLine // at least one
	EndOfFile bool       // the last line must be the last of the file
	Line      int        // of the patch, from 1
}

// A HunkLine is a line of a hunk.
type HunkLine struct {
	Op   LineOp
	Text string
}

// A LineOp says what happens to a line: it is the line's prefix in the patch.
type LineOp byte

// The prefixes of hunk lines.
const (
	Keep   LineOp = ' '
	Remove LineOp = '-'
	Insert LineOp = '+'
)

// old returns the lines that the hunk expects in the file.
func (h Hunk) old() []string {
	var lines []string
	for _, line := range h.Lines {
		if line.Op != Insert {
			lines = append(lines, line.Text)
		}
	}
	return lines
}
