package text

import "strings"

// Image is an image that a terminal shows in cells. A block of cells has Rows lines, each with Cols columns in a style with
// the image.
type Image struct {
	Cols, Rows int
	// ID is the image's number in a terminal with kitty graphics, which shows a part of the image in each cell; or 0.
	ID uint32
	// Draw is the sequence that draws the whole block from its first cell, for other terminals.
	Draw []byte
}

// imageCell is the character that a terminal with kitty graphics replaces by a part of an image.
const imageCell = '\U0010EEEE'

// rowMarks are the combining characters that stand for the row numbers of images, from 0 on.
var rowMarks = []rune("\u0305\u030d\u030e\u0310\u0312\u033d\u033e\u033f\u0346\u034a\u034b\u034c\u0350\u0351\u0352\u0357" +
	"\u035b\u0363\u0364\u0365\u0366\u0367\u0368\u0369\u036a\u036b\u036c\u036d\u036e\u036f\u0483\u0484")

// MaxImageRows is the maximum number of rows of an image.
const MaxImageRows = 32

// Lines returns the block of cells that shows the image.
func (i *Image) Lines() []Line {
	lines := make([]Line, i.Rows)
	for y := range lines {
		cells := Blank(i.Cols)
		if i.ID != 0 { // the terminal counts the columns
			cells = string(imageCell) + string(rowMarks[y]) + strings.Repeat(string(imageCell), i.Cols-1)
		}
		lines[y] = Line{{Text: cells, Style: Style{Image: i}}}
	}
	return lines
}
