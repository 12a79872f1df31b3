package checkpoint

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
)

// maxText is the maximum file size for line-by-line diffs.
const maxText = 1 << 20

// Unified formats a change from Diff or Restore as a unified diff with git's headers. Large and binary files are only
// named. The result is empty for directories.
func (s *Store) Unified(ctx context.Context, c Change) (text string, err error) {
	if c.Dir() {
		return "", nil
	}
	err = s.locked(ctx, "show change of "+c.Path, func() error {
		o, err := openObjects(s.packs())
		if err != nil {
			return err
		}
		defer o.close()
		text, err = unified(o, &c)
		return err
	})
	return text, err
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
		fmt.Fprintf(&b, "new file mode %s\n", gitMode(c.new))
		from = "/dev/null"
	case !hasNew:
		fmt.Fprintf(&b, "deleted file mode %s\n", gitMode(c.old))
		to = "/dev/null"
	case gitMode(c.old) != gitMode(c.new):
		fmt.Fprintf(&b, "old mode %s\nnew mode %s\n", gitMode(c.old), gitMode(c.new))
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

// replaced formats a file that became a link, or the reverse, as a deletion and an addition, like git.
func replaced(o *objects, c *Change) (string, error) {
	deleted, added := newChange(c.Path, c.old, nil), newChange(c.Path, nil, c.new)
	a, err := unified(o, &deleted)
	if err != nil {
		return "", err
	}
	b, err := unified(o, &added)
	return a + b, err
}

// text returns a file's content or a link's target. ok is false if it is not text.
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
	if err != nil || !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return "", false, err
	}
	return string(data), true, nil
}

// gitMode formats a mode like git, but with all permission bits.
func gitMode(e *entry) string {
	if e.kind == linkKind {
		return "120000"
	}
	return fmt.Sprintf("100%03o", e.mode.Perm())
}

// quote quotes a name that would break the line, in a way that git reads.
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
