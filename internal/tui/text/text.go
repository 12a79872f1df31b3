// Package text has styled lines for the terminal. A style names a span's meaning, and a theme gives it
// colors, so that lines can be laid out once and shown in any theme.
package text

// Role is a span's meaning.
type Role uint8

// Roles of spans. Plain is the terminal's own foreground and background.
const (
	Plain Role = iota
	Dim
	Accent
	Success
	Warning
	Failure
	User
	Heading
	Quote
	Code
	Link
	Border
	Selected
	Match
	Added
	Removed
	AddedWord
	RemovedWord
	Keyword
	String
	Number
	Comment
	Name
	Kind
	Roles // the number of roles
)

// Attr is a set of span attributes.
type Attr uint8

// Attributes of spans.
const (
	Bold Attr = 1 << iota
	Italic
	Underline
	Strike
	Reverse
)

// Style is how a span is shown.
type Style struct {
	Role  Role
	Attr  Attr
	URL   string // link target; only http, https, mailto and file
	Image *Image // the image that the cells show a part of
}

// Span is text in one style. It has no control characters: see Clean.
type Span struct {
	Text  string
	Style Style
}

// Line is a line of spans.
type Line []Span
