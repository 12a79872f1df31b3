package textfile

import "bytes"

// A View is the text of a file with every line ending as LF, the form in which
// models write, with the way back to offsets of the file's own text.
type View struct {
	// Text is the file's text with LF endings. The caller must not modify it.
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

// A Mapper turns view offsets into text offsets in ascending order.
type Mapper struct {
	view       View
	at, offset int // the same place in the view and in the file's text
}

// Mapper returns a Mapper that starts at the beginning.
func (v View) Mapper() *Mapper { return &Mapper{view: v} }

// Offset returns the offset in the file's text of the view's offset, which
// must not be less than that of the call before. The offset behind a line is
// behind its whole ending.
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
