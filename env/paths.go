package env

import (
	"path"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Paths joins, cleans and compares paths by an environment's rules, which [Info.Paths] returns. The zero value follows
// POSIX.
//
// All methods are lexical and access no files. In particular, ".." cancels the element before it even if that is a
// symbolic link; use [Environment.RealPath] to resolve links.
//
// An empty path means the current directory: Clean, Base and Dir return ".", and Join skips it. All methods remove
// trailing separators; [Paths.EndsInSeparator] reports them.
//
// On Windows both "\" and "/" separate elements, and results use "\". A path may begin with a drive or share, such as
// "C:" or "\\server\share". Neither "\dir" nor "C:dir" is absolute.
type Paths struct {
	windows bool
	folds   bool // file systems usually ignore case
}

// PathsOf returns a platform's rules, where platform is a GOOS value. All platforms but "windows" follow POSIX.
func PathsOf(platform string) Paths {
	return Paths{windows: platform == "windows", folds: platform == "windows" || platform == "darwin"}
}

// Paths returns the path rules of the environment.
func (i Info) Paths() Paths { return PathsOf(i.Platform) }

// IsAbs reports whether a path is absolute.
func (p Paths) IsAbs(name string) bool {
	if !p.windows {
		return path.IsAbs(name)
	}
	vol, rest := splitVolume(name)
	return vol != "" && (strings.HasPrefix(rest, "/") || isShare(vol))
}

// Clean returns the shortest equivalent path: single separators, none at the end, no ".", and ".."
// only at the start.
func (p Paths) Clean(name string) string {
	if !p.windows {
		return path.Clean(name)
	}
	vol, rest := splitVolume(name)
	switch {
	case rest != "":
		rest = path.Clean(rest)
		if vol == "" && isDrive(rest) {
			rest = "./" + rest // cleaning must not turn a name into a drive
		}
	case isShare(vol):
		rest = "/"
	default:
		rest = "."
	}
	return backslashed(vol + rest)
}

// Join joins elements into a clean path, skipping empty elements. Absolute elements are not special; see Abs.
func (p Paths) Join(elems ...string) string {
	var kept []string
	for _, e := range elems {
		if e != "" {
			kept = append(kept, e)
		}
	}
	if len(kept) == 0 {
		return ""
	}
	// "C:" and "x" make "C:x", which is relative to the drive's current directory.
	if p.windows && len(kept) > 1 && len(kept[0]) == 2 && isDrive(kept[0]) {
		return p.Clean(kept[0] + strings.Join(kept[1:], "/"))
	}
	return p.Clean(strings.Join(kept, "/"))
}

// Abs returns name as an absolute, clean path, resolved against dir, which must be absolute.
func (p Paths) Abs(dir, name string) string {
	if p.IsAbs(name) {
		return p.Clean(name)
	}
	if !p.windows {
		return path.Join(dir, name)
	}
	here, _ := splitVolume(dir)
	vol, rest := splitVolume(name)
	switch {
	case vol != "" && fold(vol) != fold(here):
		// The current directory on another drive is unknown, so use its root.
		return p.Clean(vol + "/" + rest)
	case strings.HasPrefix(rest, "/"):
		return p.Clean(here + rest)
	}
	return p.Join(dir, rest)
}

// Base returns the last path element, or the separator for a root.
func (p Paths) Base(name string) string {
	if !p.windows {
		return path.Base(name)
	}
	_, rest := splitVolume(name)
	return backslashed(path.Base(rest))
}

// Dir returns all but the last path element. The Dir of a root is the root.
func (p Paths) Dir(name string) string {
	if !p.windows {
		return path.Dir(name)
	}
	vol, rest := splitVolume(p.Clean(name))
	return backslashed(vol + path.Dir(rest))
}

// Within reports whether name is dir or below it. It reports false unless both are absolute. Names are
// compared as Key does: without case on Windows and macOS, and without Unicode normalization on macOS.
func (p Paths) Within(dir, name string) bool {
	_, ok := p.Rel(dir, name)
	return ok
}

// Rel returns name relative to dir, with slashes; "." is dir itself. It reports false unless name is within dir.
func (p Paths) Rel(dir, name string) (string, bool) {
	if !p.IsAbs(dir) || !p.IsAbs(name) {
		return "", false
	}
	dir, name = p.ToSlash(p.Clean(dir)), p.ToSlash(p.Clean(name))
	if p.windows && hasOddElement(name) {
		return "", false
	}
	if p.same(dir, name) {
		return ".", true
	}
	if !strings.HasSuffix(dir, "/") {
		dir += "/"
	}
	if below, ok := p.cut(dir, name); ok {
		return below, true
	}
	return "", false
}

func (p Paths) same(a, b string) bool { return a == b || p.folds && p.fold(a) == p.fold(b) }

// fold returns a form that is equal for names that the platform treats as equal.
func (p Paths) fold(name string) string {
	switch {
	case p.windows:
		return fold(name)
	case p.folds:
		return foldApple(name)
	}
	return name
}

// cut removes a prefix, which ends in a slash, from a path.
func (p Paths) cut(prefix, name string) (string, bool) {
	if !p.folds {
		return strings.CutPrefix(name, prefix)
	}
	n := strings.Count(prefix, "/")
	end := 0
	for i := range len(name) {
		if name[i] == '/' {
			if n--; n == 0 {
				end = i + 1
				break
			}
		}
	}
	if end == 0 || p.fold(name[:end]) != p.fold(prefix) {
		return "", false
	}
	return name[end:], true
}

// Key returns a form that is equal for all names that may denote the same file: clean, without case on Windows and
// macOS, whose file systems usually ignore it, and in one Unicode normalization on macOS.
func (p Paths) Key(name string) string {
	name = p.Clean(name)
	if p.windows {
		return strings.ToLower(name)
	}
	return p.fold(name)
}

// ToSlash returns a path with slashes as separators, which every environment accepts.
func (p Paths) ToSlash(name string) string {
	if p.windows {
		return strings.ReplaceAll(name, `\`, "/")
	}
	return name
}

// EndsInSeparator reports whether a path has a trailing separator.
func (p Paths) EndsInSeparator(name string) bool {
	return strings.HasSuffix(name, "/") || p.windows && strings.HasSuffix(name, `\`)
}

// splitVolume splits a Windows path after its drive or share. Both parts use slashes. Device paths
// such as "\\?\C:\x" and "\\.\pipe\x" are split like shares.
func splitVolume(name string) (vol, rest string) {
	name = strings.ReplaceAll(name, `\`, "/")
	if isDrive(name) {
		return name[:2], name[2:]
	}
	if !strings.HasPrefix(name, "//") || strings.HasPrefix(name, "///") {
		return "", name
	}
	server, after, _ := strings.Cut(name[2:], "/")
	share, rest, more := strings.Cut(strings.TrimLeft(after, "/"), "/")
	switch {
	case server == "":
		return "", name
	case share == "":
		return "//" + server, ""
	case more:
		rest = "/" + rest
	}
	return "//" + server + "/" + share, rest
}

// isDrive reports whether a path begins with a drive letter.
func isDrive(name string) bool {
	return len(name) >= 2 && name[1] == ':' && ('a' <= name[0]|0x20 && name[0]|0x20 <= 'z')
}

// isShare reports whether a volume is a share or a device, whose root needs no separator.
func isShare(vol string) bool { return strings.HasPrefix(vol, "//") }

func backslashed(name string) string { return strings.ReplaceAll(name, "/", `\`) }

// hasOddElement reports whether Windows may interpret an element differently than it looks. Trailing dots and spaces
// are dropped, so ".. " may mean "..", and a colon starts a stream name.
func hasOddElement(name string) bool {
	_, rest := splitVolume(name)
	for elem := range strings.SplitSeq(rest, "/") {
		if elem != "" && strings.Trim(elem, ". ") == "" || strings.Contains(elem, ":") {
			return true
		}
	}
	return false
}

// fold returns a form that is equal for names that Windows treats as equal. Letters that Unicode
// folds but file systems do not, such as "k" and the Kelvin sign, stay different.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if up := unicode.ToUpper(r); unicode.ToLower(up) == r {
			return up
		}
		return r
	}, name)
}

// foldApple returns a form that is equal for names that macOS file systems treat as equal. They ignore case and
// normalization, and HFS+ also ignores some invisible characters.
func foldApple(name string) string {
	if isLowerASCII(name) {
		return name
	}
	return strings.Map(func(r rune) rune {
		switch {
		case 0x200c <= r && r <= 0x200f, 0x202a <= r && r <= 0x202e, 0x206a <= r && r <= 0x206f, r == 0xfeff:
			return -1
		}
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return unicode.ToLower(least)
	}, norm.NFD.String(name))
}

func isLowerASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 || 'A' <= s[i] && s[i] <= 'Z' {
			return false
		}
	}
	return true
}
