package search

import "time"

// DefaultMaxFileSize is the default of GrepQuery.MaxFileSize.
const DefaultMaxFileSize = 32 << 20

// Mode selects what Grep reports for each file.
type Mode int

// Modes for Grep.
const (
	Content Mode = iota // the matching lines, with context
	Files               // only that the file matches
	Count               // the number of matches
)

// GrepQuery is a query for [Grep]. Only Pattern is required.
type GrepQuery struct {
	Hide func(path string) bool // skips files and directories by their absolute paths; nil skips none

	Pattern    string // RE2 syntax
	Literal    bool   // Pattern is plain text
	IgnoreCase bool
	// Multiline lets a match span lines, and "." match line feeds. Otherwise each line is matched
	// separately, without its line feed.
	Multiline bool

	// Path is the file or directory to search; "" is the working directory. The filters below do
	// not apply to a file.
	Path string
	// Globs select files by path, as ripgrep's -g does. A glob with a slash is relative to Path;
	// one without a slash matches the last element. A leading "!" excludes. The last glob that
	// matches wins. A selected file is searched even if it is hidden or ignored.
	Globs []string
	// Types select files by ripgrep's names for file types, such as "go" or "py".
	Types    []string
	Hidden   bool // include files and directories whose name starts with a dot
	NoIgnore bool // include what ignore files exclude

	Mode          Mode
	Before, After int  // lines of context
	Spans         bool // fill Line.Spans

	// HeadLimit is the maximum number of results: matching lines in Content mode, otherwise files.
	// MaxPerFile is the maximum number of matches per file. Zero means no limit.
	HeadLimit  int
	MaxPerFile int
	// MaxLine is the number of bytes to which lines are truncated. Zero means no limit.
	MaxLine int
	// MaxFileSize is the size above which files are skipped. Zero means DefaultMaxFileSize,
	// negative means no limit.
	MaxFileSize int64
	// Timeout ends the search with the results so far. Zero means no limit.
	Timeout time.Duration
}

// FileMatch is a file with matches.
type FileMatch struct {
	// Path is GrepQuery.Path joined with the file's path relative to it, with slashes.
	Path string
	// Matches is the number of matching lines, or of matches in a Multiline search. It is at most
	// GrepQuery.MaxPerFile.
	Matches int
	// Lines are the matching lines and their context, in order. Only Content mode sets them.
	Lines []Line
}

// Line is a line in a file, without its line feed.
type Line struct {
	Number int  // from 1
	Match  bool // false for context
	Cut    bool // Text was truncated to GrepQuery.MaxLine
	Text   string
	// Spans are the matches' byte ranges in the whole line, if GrepQuery.Spans is set.
	Spans []Span
}

// Span is a range of bytes.
type Span struct{ Start, End int }

// GlobQuery is a query for [Glob].
type GlobQuery struct {
	Hide func(path string) bool // skips files and directories by their absolute paths; nil skips none

	// Pattern is matched against paths relative to Path. "*" and "?" do not match a slash, "**" as a whole element
	// matches any number of directories, and [a-z], [!a-z] and {a,b} are supported. The pattern's leading literal
	// directories are entered even if hidden or ignored. An absolute pattern replaces Path.
	Pattern    string
	Path       string // a directory; "" is the working directory
	IgnoreCase bool
	Hidden     bool          // include all hidden files; without it, only those that the pattern names with a dot
	NoIgnore   bool          // include what ignore files exclude
	Limit      int           // maximum number of files, the newest; zero means no limit
	Timeout    time.Duration // end with the results so far; zero means no limit

	// Visit, if set, is called for each file that matches, in path order, until it returns false. The result then has no
	// files, and no file is examined further: some may be gone.
	Visit func(path string) bool
}

// GlobResult has the files found, newest first, then by path.
type GlobResult struct {
	Files   []GlobFile
	Summary Summary
}

// GlobFile is a file found by [Glob]. Path is as in [FileMatch].
type GlobFile struct {
	Path    string
	Size    int64
	ModTime time.Time
}

// Reason is the reason why a result is partial; "" if it is complete.
type Reason string

// The reasons for a partial result.
const (
	LimitReached Reason = "result limit reached"
	TimedOut     Reason = "time limit reached"
	Stopped      Reason = "stopped by the caller"
	FilesTooBig  Reason = "files above the size limit were skipped"
	Unreadable   Reason = "some files or directories could not be read"
)

// Summary counts a search's files and results.
type Summary struct {
	Files   int // files with matches
	Matches int // matches in these files
	// Searched counts the files read, or for Glob the names matched. It is exact only if the search
	// was complete, because workers run ahead of limits.
	Searched int
	Binary   int // files skipped because they contain a NUL byte
	TooBig   int // files skipped because of MaxFileSize
	Failed   int // files and directories that could not be read

	Partial bool // there may be more results
	Reason  Reason
}

// partial marks the summary as partial. The first reason wins.
func (s *Summary) partial(r Reason) {
	if !s.Partial {
		s.Partial, s.Reason = true, r
	}
}
