package checkpoint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
)

// maxText is the size of a file above which a difference is not shown line by line.
const maxText = 1 << 20

func discard(data []byte) (hash, error) { return sha256.Sum256(data), nil }

// Unified shows a change that Diff or Restore gave as a unified diff with the headers that git uses.
// Files that are large or not text are named only, and for directories it is empty. A change that
// Status gave cannot be shown, since what is new in it was not recorded.
func (s *Store) Unified(ctx context.Context, c Change) (string, error) {
	if c.Dir() {
		return "", nil
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	o, err := openObjects(s.packs())
	if err != nil {
		return "", fmt.Errorf("show the change of %s: %w", c.Path, err)
	}
	defer o.close()
	text, err := unified(o, &c)
	if err != nil {
		return "", fmt.Errorf("show the change of %s: %w", c.Path, err)
	}
	return text, nil
}

func unified(o *objects, c *Change) (string, error) {
	if c.Kind == Modified && !c.old.isDir() && !c.new.isDir() && (c.old.kind == linkKind) != (c.new.kind == linkKind) {
		return replaced(o, c)
	}
	old, oldOK, err := text(o, c.old)
	if err != nil {
		return "", err
	}
	new, newOK, err := text(o, c.new)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	from, to := quote("a/"+c.Path), quote("b/"+c.Path)
	fmt.Fprintf(&b, "diff --git %s %s\n", from, to)
	hasOld, hasNew := c.old != nil && !c.old.isDir(), c.new != nil && !c.new.isDir()
	switch {
	case !hasOld:
		fmt.Fprintf(&b, "new file mode %s\n", gitMode(c.NewMode))
		from = "/dev/null"
	case !hasNew:
		fmt.Fprintf(&b, "deleted file mode %s\n", gitMode(c.OldMode))
		to = "/dev/null"
	case gitMode(c.OldMode) != gitMode(c.NewMode):
		fmt.Fprintf(&b, "old mode %s\nnew mode %s\n", gitMode(c.OldMode), gitMode(c.NewMode))
	}
	switch {
	case hasOld && hasNew && c.old.sameContent(c.new):
	case !oldOK || !newOK:
		fmt.Fprintf(&b, "Binary files %s and %s differ\n", from, to)
	default:
		b.WriteString(udiff.Unified(from, to, old, new))
	}
	return b.String(), nil
}

// replaced shows a file that became a link, or the reverse, as git does: one goes and one comes.
func replaced(o *objects, c *Change) (string, error) {
	gone, came := newChange(c.Path, c.old, nil), newChange(c.Path, nil, c.new)
	a, err := unified(o, &gone)
	if err != nil {
		return "", err
	}
	b, err := unified(o, &came)
	return a + b, err
}

// text gives what a file holds or where a link leads; ok is false if that cannot be shown.
func text(o *objects, e *entry) (s string, ok bool, err error) {
	switch {
	case e == nil || e.isDir():
		return "", true, nil
	case e.kind == linkKind:
		return e.target, utf8.ValidString(e.target), nil
	case e.size > maxText:
		return "", false, nil
	}
	data, err := o.read(e.hash)
	if err != nil {
		return "", false, err
	}
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return "", false, nil
	}
	return string(data), true, nil
}

// gitMode is a mode as git writes it, with all permission bits.
func gitMode(m fs.FileMode) string {
	if m&fs.ModeSymlink != 0 {
		return "120000"
	}
	return fmt.Sprintf("100%03o", m.Perm())
}

// quote writes a name that would break the line in quotes, in the way that git reads.
func quote(name string) string {
	if utf8.ValidString(name) && !strings.ContainsFunc(name, awkward) {
		return name
	}
	b := []byte{'"'}
	for len(name) > 0 {
		r, size := utf8.DecodeRuneInString(name)
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', name[0])
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\t':
			b = append(b, `\t`...)
		case awkward(r) || r == utf8.RuneError && size == 1:
			b = fmt.Appendf(b, `\%03o`, name[0])
		default:
			b = append(b, name[:size]...)
		}
		name = name[size:]
	}
	return string(append(b, '"'))
}

func awkward(r rune) bool { return r < ' ' || r == 0x7f || r == '"' || r == '\\' }
