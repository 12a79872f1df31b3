package textfile

import "bytes"

// A View is a file's text with LF line endings, as models write it. A [Mapper] maps its offsets back to the file's
// text.
type View struct {
	// Text must not be modified.
	Text []byte

	file  *File
	plain bool // Text is the file's text itself
}

// View returns the file's text with LF endings.
func (f *File) View() View {
	if bytes.IndexByte(f.text, '\r') < 0 {
		return View{Text: f.text, file: f, plain: true}
	}
	out := make([]byte, 0, len(f.text))
	rest := f.text
	for {
		i := bytes.IndexByte(rest, '\r')
		if i < 0 {
			return View{Text: append(out, rest...), file: f}
		}
		out = append(append(out, rest[:i]...), '\n')
		rest = rest[i+len(endingAt(rest, i)):]
	}
}

// A Mapper maps view offsets, in ascending order, to offsets in the file's text.
type Mapper struct {
	view       View
	at, offset int // the same position in the view and in the file's text
}

// Mapper returns a Mapper that starts at the beginning.
func (v View) Mapper() *Mapper { return &Mapper{view: v} }

// Offset returns the text offset for the view offset at, which must not be less than in the previous call. The offset
// after a line is after its complete line ending.
func (m *Mapper) Offset(at int) int {
	if m.view.plain {
		return at
	}
	text := m.view.file.text
	for m.at < at {
		i := bytes.IndexByte(m.view.Text[m.at:at], '\n')
		if i < 0 {
			m.offset += at - m.at
			m.at = at
			break
		}
		m.at += i + 1
		m.offset += i
		m.offset += len(endingAt(text, m.offset))
	}
	return m.offset
}
