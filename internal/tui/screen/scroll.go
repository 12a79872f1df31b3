package screen

import "strconv"

// scroll scrolls rows that moved up or down together, so that they need not be painted.
func (s *Screen) scroll(next []row) {
	const enough = 2 // rows that would have to be painted otherwise
	best, top, size, by := enough-1, 0, 0, 0
	for d := 1 - s.h; d < s.h; d++ {
		if d == 0 {
			continue
		}
		start, gain := 0, 0
		for y := 0; y <= s.h; y++ {
			if y < s.h && y+d >= 0 && y+d < s.h && next[y].hash == s.rows[y+d].hash {
				if next[y].hash != s.rows[y].hash && len(next[y].cells) > 0 {
					gain++
				}
				continue
			}
			if gain > best {
				best, top, size, by = gain, start, y-start, d
			}
			start, gain = y+1, 0
		}
	}
	if by == 0 {
		return
	}
	first, last := top, top+size-1+by // rows of the region
	if by < 0 {
		first, last = top+by, top+size-1
	}
	s.setStyle(0)
	s.put("\x1b[")
	s.out = strconv.AppendInt(s.out, int64(first+1), 10)
	s.put(";")
	s.out = strconv.AppendInt(s.out, int64(last+1), 10)
	s.put("r")
	if by > 0 {
		s.csi(by, 'S')
		copy(s.rows[first:], s.rows[first+by:last+1])
		clear(s.rows[last+1-by : last+1])
	} else {
		s.csi(-by, 'T')
		copy(s.rows[first-by:last+1], s.rows[first:])
		clear(s.rows[first : first-by])
	}
	s.put("\x1b[r")
	s.x, s.y = 0, 0
}
