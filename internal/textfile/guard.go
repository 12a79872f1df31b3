package textfile

import "bytes"

// GuardBreaks adjusts edits so that no line break is lost where a lone CR and a lone LF become adjacent and would be
// read as one CRLF. This happens only in files with mixed line endings. One of the two becomes a CRLF itself. The edits
// are changed in place and returned.
func (f *File) GuardBreaks(edits []Edit) []Edit {
	if bytes.IndexByte(f.text, '\r') < 0 {
		return edits
	}
	last := byte(0) // the byte before the edit, after earlier edits
	end := 0
	for i := range edits {
		e := &edits[i]
		if e.Start > end {
			last = f.text[e.Start-1]
		}
		next := f.following(edits[i:])
		switch n := len(e.Text); {
		case n == 0 && last == '\r' && next == '\n':
			e.Text = "\r"
		case n > 0:
			if last == '\r' && e.Text[0] == '\n' {
				e.Text = "\r" + e.Text
			}
			if e.Text[len(e.Text)-1] == '\r' && next == '\n' {
				e.Text += "\n"
			}
		}
		if n := len(e.Text); n > 0 {
			last = e.Text[n-1]
		}
		end = e.End
	}
	return edits
}

// following returns the byte that will follow the first edit, or 0.
func (f *File) following(edits []Edit) byte {
	end := edits[0].End
	for _, e := range edits[1:] {
		if e.Start > end {
			break
		}
		if e.Text != "" {
			return e.Text[0]
		}
		end = e.End
	}
	if end < len(f.text) {
		return f.text[end]
	}
	return 0
}
