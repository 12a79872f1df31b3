package search

import "time"

// DefaultMaxFileSize is the size above which files are skipped when a query does not say.
const DefaultMaxFileSize = 32 << 20

// Mode says what a grep reports for each file.
type Mode int

// The modes of a grep.
const (
	Content Mode = iota // the matching lines, with context
	Files               // only that the file matches
	Count               // the number of matches
)

// GrepQuery says what to search for and where. Only Pattern is needed.
type GrepQuery struct {
	Pattern    string // RE2 syntax
	Literal    bool   // Pattern is plain text
	IgnoreCase bool
	// Multiline lets a match span lines, and "." match line ends. Without it every line is
	// matched on its own, without its line feed.
	Multiline bool

	// Path is a file or directory; "" is the working directory. A file that is named here is
	// searched whatever the filters below say.
	Path string
	// Globs choose files by path as ripgrep's -g does: a glob with a slash is relative to Path,
	// one without matches the last element; "!" in front excludes; the last that matches wins.
	// A file they choose is searched even if it is hidden or ignored.
	Globs []string
	// Types choose files by the kind of their name, such as "go" or "py". See [TypeNames].
	Types    []string
	Hidden   bool // also files and directories whose name starts with a dot
	NoIgnore bool // also what ignore files exclude

	Mode          Mode
	Before, After int  // lines of context around each match
	Spans         bool // fill Line.Spans

	// HeadLimit ends the search after that many results: matching lines in Content mode, files
	// in the others. MaxPerFile bounds the matches taken from one file. Zero means no limit.
	HeadLimit  int
	MaxPerFile int
	// MaxLine cuts longer lines to that many bytes. Zero means no limit.
	MaxLine int
	// MaxFileSize skips larger files. Zero is DefaultMaxFileSize, negative means no limit.
	MaxFileSize int64
	// Timeout ends the search with what was found so far. Zero means no limit.
	Timeout time.Duration
}

// FileMatch is a file that matched.
type FileMatch struct {
	// Path is GrepQuery.Path joined with the file's place below it, with slashes.
	Path string
	// Matches counts the matching lines, or in a Multiline search the matches; never above
	// GrepQuery.MaxPerFile.
	Matches int
	// Lines are the matching lines and their context, in order. They are set in Content mode.
	Lines []Line
}

// Line is one line of a file, without its line feed.
type Line struct {
	Number int  // from 1
	Match  bool // false for context
	Cut    bool // the text was longer than GrepQuery.MaxLine
	Text   string
	// Spans are the byte ranges of the matches in the line before it was cut, if asked for.
	Spans []Span
}

// Span is a range of bytes.
type Span struct{ Start, End int }

// GlobQuery says which names to look for and where.
type GlobQuery struct {
	// Pattern is matched against paths relative to Path: "*" and "?" stop at slashes, "**" as a
	// whole element crosses them, and [a-z], [!a-z] and {a,b} are known. Directories that the
	// pattern names literally at its start are entered even if hidden or ignored, and an
	// absolute pattern replaces Path.
	Pattern    string
	Path       string // a directory; "" is the working directory
	IgnoreCase bool
	Hidden     bool // also hidden files that the pattern does not name with a dot of its own
	NoIgnore   bool
	Limit      int           // keep only that many files, the newest; zero means all
	Timeout    time.Duration // end with what was found so far; zero means no limit
}

// GlobResult is the answer to a GlobQuery: files, newest first, files of the same time by path.
type GlobResult struct {
	Files   []GlobFile
	Summary Summary
}

// GlobFile is a file that was found. Path is as in [FileMatch].
type GlobFile struct {
	Path    string
	Size    int64
	ModTime time.Time
}

// Reason says why a result is partial.
type Reason string

// The reasons for a partial result.
const (
	Complete     Reason = ""
	LimitReached Reason = "result limit reached"
	TimedOut     Reason = "time limit reached"
	Stopped      Reason = "stopped by the caller"
	FilesTooBig  Reason = "files above the size limit were skipped"
	Unreadable   Reason = "some files or directories could not be read"
)

// Summary counts what a search did.
type Summary struct {
	Files   int // with matches
	Matches int // in them
	// Searched counts the files that were read, or for Glob those whose name was looked at. How
	// far workers ran ahead of a limit varies, so it is only exact when the search was complete.
	Searched int
	Binary   int // skipped because they hold a NUL byte
	TooBig   int // skipped because of MaxFileSize
	Failed   int // files and directories that could not be read

	Partial bool // there may be more than was reported
	Reason  Reason
}

// partial marks the summary, keeping the first reason.
func (s *Summary) partial(r Reason) {
	if !s.Partial {
		s.Partial, s.Reason = true, r
	}
}
