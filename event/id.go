package event

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxID keeps paths short enough for every system.
const maxID = 128

// CheckID reports, as an ErrBadID, why a text cannot be the id of a session. An id is a file name
// that means the same on every system and is never taken for a flag or a path: letters and digits
// of ASCII and the characters . _ - @ + = ~ , of which it begins with a letter, a digit or _ and
// does not end in a dot.
func CheckID(id string) error {
	switch {
	case id == "":
		return fmt.Errorf("%w: it is empty", ErrBadID)
	case len(id) > maxID:
		return fmt.Errorf("%w: it has %d bytes, more than %d", ErrBadID, len(id), maxID)
	}
	for _, r := range id {
		if r >= utf8.RuneSelf || !idByte(byte(r)) {
			return fmt.Errorf("%w: %q has %q in it; use letters, digits and . _ - @ + = ~ ,", ErrBadID, id, r)
		}
	}
	switch {
	case !alphanumeric(id[0]) && id[0] != '_':
		return fmt.Errorf("%w: %q begins with %q", ErrBadID, id, id[0])
	case strings.HasSuffix(id, "."):
		return fmt.Errorf("%w: %q ends in a dot", ErrBadID, id)
	case device(id):
		return fmt.Errorf("%w: %q names a device on Windows", ErrBadID, id)
	}
	return nil
}

// FoldID is the form that ids which differ in case only have in common.
func FoldID(id string) string { return strings.ToLower(id) }

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func idByte(c byte) bool { return alphanumeric(c) || strings.IndexByte("._-@+=~,", c) >= 0 }

// device reports whether Windows takes a file name for a device, which it does also with an
// extension behind it.
func device(id string) bool {
	stem, _, _ := strings.Cut(FoldID(id), ".")
	switch stem {
	case "con", "prn", "aux", "nul":
		return true
	}
	port, found := strings.CutPrefix(stem, "com")
	if !found {
		port, found = strings.CutPrefix(stem, "lpt")
	}
	return found && len(port) == 1 && '0' <= port[0] && port[0] <= '9'
}
