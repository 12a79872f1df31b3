// Package patch parses patches in the v4a format, the input for the apply_patch tool, and plans the file operations. It
// does not write files: [Patch.Plan] reads through a [Source] and returns all operations for the caller to perform.
//
// # Format
//
//	*** Begin Patch
//	*** Add File: path          followed by every line of the new file with a +
//	*** Delete File: path
//	*** Update File: path
//	*** Move to: new path       optional; renames the updated file
//	@@ hint                     optional; a line above the change
//	 context                    a line that stays
//	-old                        a line to remove
//	+new                        a line to add
//	*** End of File             optional; the hunk ends at the end of the file
//	*** End Patch
//
// The parser tolerates common deviations: a here-document around the patch, white space around the patch
// and its markers, CRLF line endings, a first hunk without @@, empty lines without their leading space,
// and several @@ lines in a row, each searched for after the previous one.
//
// # Finding the place
//
// Hunks apply in order, each after the previous one. A hunk's context and removed lines are compared exactly, then
// without trailing white space, then without white space at both ends, then with look-alike characters folded. The
// first comparison that finds a place wins, with its first place. If there are other places and neither a hint nor an
// earlier hunk decides, a note in the plan lists their lines. A hunk with only added lines is appended to the file.
//
// # Writing
//
// Only removed lines leave the file and only added lines enter it; context stays unchanged in the file, even if it did
// not match exactly. Added lines get the file's encoding and its first line's ending. A missing final line ending is
// added.
package patch

import _ "embed"

// Grammar is the patch format as a Lark grammar, for models that accept freeform tools.
//
//go:embed grammar.lark
var Grammar string

// An Action is how an operation changes a file. Its value is the letter shown in reports.
type Action byte

// The actions.
const (
	Add    Action = 'A'
	Update Action = 'M'
	Delete Action = 'D'
)

// A Patch is a parsed patch.
type Patch struct {
	Ops []Op
}

// An Op is one operation in a patch. Paths are as written; the caller must check them.
type Op struct {
	Action  Action
	Path    string
	MoveTo  string // for Update: the new path, or ""
	Content string // for Add: the lines, each ending with LF
	Line    int    // patch line, from 1

	hunks []hunk // for Update: at least one
}

// Texts returns the lines that an Update looks for, and their replacement.
func (o Op) Texts() (old, new string) {
	for _, h := range o.hunks {
		for _, l := range h.lines {
			if l.op != insert {
				old += l.text + "\n"
			}
			if l.op != remove {
				new += l.text + "\n"
			}
		}
	}
	return old, new
}

// A hunk is one run of changed lines with their context.
type hunk struct {
	hints     []string // texts after @@, without empty ones
	lines     []hunkLine
	endOfFile bool // the last line must be the file's last
	line      int  // patch line, from 1
}

// A hunkLine is one line in a hunk. Its op is its prefix in the patch.
type hunkLine struct {
	op   byte
	text string
}

const (
	keep   = ' '
	remove = '-'
	insert = '+'
)

// old returns the lines that the hunk expects in the file.
func (h hunk) old() []string {
	var lines []string
	for _, line := range h.lines {
		if line.op != insert {
			lines = append(lines, line.text)
		}
	}
	return lines
}

// withoutLastBlank drops the last expected line, which is empty, and an empty last new line: models
// often end hunks with a blank line that the file does not have.
func (h hunk) withoutLastBlank() hunk {
	last := len(h.lines) - 1
	for h.lines[last].op == insert {
		last--
	}
	lines := make([]hunkLine, 0, len(h.lines))
	lines = append(lines, h.lines[:last]...)
	rest := h.lines[last+1:]
	if h.lines[last].op == keep && len(rest) > 0 {
		lines = append(lines, hunkLine{op: insert})
	}
	lines = append(lines, rest...)
	if n := len(lines); len(rest) > 0 && lines[n-1] == (hunkLine{op: insert}) {
		lines = lines[:n-1]
	}
	h.lines = lines
	return h
}
