package env

import (
	"path"
	"strings"
	"unicode"
)

// Paths joins, cleans and compares paths by the rules of an environment's system, which need not be
// the system that this program runs on. [Info.Paths] gives the rules of an environment; the zero
// value has those of POSIX.
//
// All methods work on names alone and touch no file. In particular ".." is taken back without
// looking whether what stands before it is a symbolic link; [Environment.RealPath] does that.
//
// The empty path is the directory that a path is relative to: Clean, Base and Dir give "." for it,
// and Join leaves it out. A separator at the end of a path has no meaning and is removed by every
// method; [Paths.EndsInSeparator] asks for it.
//
// Under the rules of Windows both "\" and "/" separate, results are written with "\", and drives
// and shares, such as "C:" and "\\server\share", begin a path. Of "\dir", which names no drive, and
// "C:dir", which does not start at the root of its drive, neither is absolute.
type Paths struct {
	windows bool
	folds   bool // file names usually differ by more than letter case
}

// PathsOf gives the rules of a platform, named as GOOS does. All but "windows" follow POSIX.
func PathsOf(platform string) Paths {
	return Paths{windows: platform == "windows", folds: platform == "windows" || platform == "darwin"}
}

// Paths gives the rules for the paths of the environment.
func (i Info) Paths() Paths { return PathsOf(i.Platform) }

// IsAbs reports whether a path means the same from every directory.
func (p Paths) IsAbs(name string) bool {
	if !p.windows {
		return path.IsAbs(name)
	}
	vol, rest := splitVolume(name)
	return vol != "" && (strings.HasPrefix(rest, "/") || isShare(vol))
}

// Clean gives the shortest form of a path: one separator between elements, none at the end, no "."
// and no ".." that can be taken back.
func (p Paths) Clean(name string) string {
	if !p.windows {
		return path.Clean(name)
	}
	vol, rest := splitVolume(name)
	switch {
	case rest != "":
		rest = path.Clean(rest)
		if vol == "" && isDrive(rest) {
			rest = "./" + rest // taking back ".." must not make a drive of a name
		}
	case isShare(vol):
		rest = "/"
	default:
		rest = "."
	}
	return backslashed(vol + rest)
}

// Join joins elements to one clean path. Empty elements are left out, and without any other the
// path is empty. An element that is absolute is not treated differently; for that see Abs.
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
	// "C:" joined with "x" stays relative to the drive's directory, as the parts are.
	if p.windows && len(kept) > 1 && len(kept[0]) == 2 && isDrive(kept[0]) {
		return p.Clean(kept[0] + strings.Join(kept[1:], "/"))
	}
	return p.Clean(strings.Join(kept, "/"))
}

// Abs gives the absolute, clean form of a path that is relative to dir, which is absolute.
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
		// The current directory of another drive is unknown; its root stands in for it.
		return p.Clean(vol + "/" + rest)
	case strings.HasPrefix(rest, "/"):
		return p.Clean(here + rest)
	}
	return p.Join(dir, rest)
}

// Base gives the last element of a path; that of a root is the separator.
func (p Paths) Base(name string) string {
	if !p.windows {
		return path.Base(name)
	}
	_, rest := splitVolume(name)
	return backslashed(path.Base(rest))
}

// Dir gives all but the last element of a path. That of a root is the root itself.
func (p Paths) Dir(name string) string {
	if !p.windows {
		return path.Dir(name)
	}
	vol, rest := splitVolume(p.Clean(name))
	return backslashed(vol + path.Dir(rest))
}

// Within reports whether a path is dir or lies below it. Both must be absolute, or the answer is
// no. Windows does not tell upper case from lower.
func (p Paths) Within(dir, name string) bool {
	_, ok := p.Rel(dir, name)
	return ok
}

// Rel gives the path of name relative to dir, written with slashes, "." for dir itself. It reports
// false unless name lies within dir, as Within does.
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

func (p Paths) same(a, b string) bool {
	if p.windows {
		return fold(a) == fold(b)
	}
	return a == b
}

// cut takes a prefix off a path, by whole elements: the prefix ends in a slash.
func (p Paths) cut(prefix, name string) (string, bool) {
	if !p.windows {
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
	if end == 0 || fold(name[:end]) != fold(prefix) {
		return "", false
	}
	return name[end:], true
}

// Key gives a form of a path that is the same for all names that may mean one file: clean, and
// without letter case where file systems usually ignore it, on Windows and macOS. Use it to find
// two names of one file; Within is the stricter question.
func (p Paths) Key(name string) string {
	name = p.Clean(name)
	if p.folds {
		return strings.ToLower(name)
	}
	return name
}

// ToSlash gives a path with slashes for separators, which every environment takes.
func (p Paths) ToSlash(name string) string {
	if p.windows {
		return strings.ReplaceAll(name, `\`, "/")
	}
	return name
}

// EndsInSeparator reports whether the end of a path says that it names a directory.
func (p Paths) EndsInSeparator(name string) bool {
	return strings.HasSuffix(name, "/") || p.windows && strings.HasSuffix(name, `\`)
}

// splitVolume cuts a Windows path, written with slashes from here on, after its drive or share.
// The parts of "\\?\C:\x" and "\\.\pipe\x", which name devices, are cut like those of a share.
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

// hasOddElement reports whether an element below the volume may mean something else than it seems.
// Windows leaves out dots and spaces at the end of a name, so that one of nothing else may be "..",
// and takes what follows a colon for a stream of a file.
func hasOddElement(name string) bool {
	_, rest := splitVolume(name)
	for elem := range strings.SplitSeq(rest, "/") {
		if elem != "" && strings.Trim(elem, ". ") == "" || strings.Contains(elem, ":") {
			return true
		}
	}
	return false
}

// fold gives a form that two names have in common if Windows takes them for one. Letters that
// Unicode folds together but file systems keep apart, such as "k" and the Kelvin sign, stay apart.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if up := unicode.ToUpper(r); unicode.ToLower(up) == r {
			return up
		}
		return r
	}, name)
}
