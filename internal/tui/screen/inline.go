package screen

import "github.com/reins-agent/reins/internal/tui/text"

// place paints an inline screen's region at the cursor, and takes the rows that it needs.
func (s *Screen) place(rows []row) {
	if s.begun {
		s.move(0, 0)
	}
	s.begun = true
	s.put("\x1b[m\r\x1b[J")
	s.x, s.y, s.style = 0, 0, 0
	for y, r := range rows {
		if y > 0 {
			s.newline()
			s.y = y
		}
		s.write(r)
	}
}

// write writes a row from its first column.
func (s *Screen) write(r row) {
	s.repaint(0, s.y, r)
}

// newline begins a new row, which scrolls the terminal at its bottom.
func (s *Screen) newline() {
	s.setStyle(0)
	s.put("\r\n")
	s.x = 0
}

// Print returns the bytes that put finished lines above an inline screen's region, followed by the frame.
func (s *Screen) Print(lines []text.Line, f Frame) []byte {
	s.out = s.out[:0]
	if s.begun {
		s.move(0, 0)
	}
	head := len(s.out)
	s.put("\x1b[m\r\x1b[J")
	s.x, s.y, s.style = 0, 0, 0
	block := 0 // rows of the image so far
	for _, l := range lines {
		r := s.layout(l, row{})
		s.write(r)
		if block++; r.image == nil {
			block = 0
		} else if block == r.image.Rows {
			s.drawAbove(r.image, r.imageX)
			block = 0
		}
		s.newline()
	}
	above := append([]byte(nil), s.out...)
	s.stale = true
	frame := s.Paint(f)
	if s.Sync && len(frame) > 8 && string(frame[:8]) == "\x1b[?2026h" {
		above = append(above[:head:head], append([]byte("\x1b[?2026h"), above[head:]...)...)
		frame = frame[8:]
	}
	s.out = append(above, frame...)
	return s.out
}

// Resize returns the bytes that prepare the terminal for frames of another size.
func (s *Screen) Resize(w, h int) []byte {
	s.out = s.out[:0]
	if s.inline && s.begun {
		up := 0
		for y := range min(s.y, len(s.rows)) {
			up += max(len(s.rows[y].cells)-1, 0)/max(w, 1) + 1
		}
		up += max(s.x, 0) / max(w, 1)
		s.put("\r")
		if up > 0 {
			s.csi(up, 'A')
		}
		s.put("\x1b[J")
	}
	s.size(w, h)
	s.stale, s.x, s.y = true, 0, 0
	return s.out
}

// Leave returns the bytes that end an inline screen: the region is erased, and the cursor is below the finished lines.
func (s *Screen) Leave() []byte {
	s.out = s.out[:0]
	if s.inline && s.begun {
		s.setStyle(0)
		s.move(0, 0)
		s.put("\x1b[J")
	}
	s.begun, s.stale = false, true
	return s.out
}
