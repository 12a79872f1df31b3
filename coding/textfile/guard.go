package textfile

import "bytes"

// GuardBreaks adjusts edits so that no line break is lost where a lone CR and
// a lone LF meet: side by side they would read as one CRLF. Such a pair arises
// only in files that mix line endings, when an edit removes all that stands
// between the two, or ends with one before the other. One of the two then
// becomes a CRLF itself. The edits are changed in place and returned.
func (f *File) GuardBreaks(edits []Edit) []Edit {
	if bytes.IndexByte(f.text, '\r') < 0 {
		return edits
	}
	last := byte(0) // the byte before the edit, once those before it are made
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

// following returns the byte that will stand behind the first edit, or 0.
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
