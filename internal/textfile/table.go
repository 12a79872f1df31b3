package textfile

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// decodeTable decodes data in an encoding with a character table. It returns false if a byte has no
// character or a character does not encode back to the same bytes. ASCII, which is most of most files,
// is copied in runs.
func (e Encoding) decodeTable(data []byte) ([]byte, bool) {
	decoder, encoder := e.table().NewDecoder(), e.table().NewEncoder()
	text := make([]byte, 0, len(data)+len(data)/4)
	var decoded, encoded [3 << 10]byte
	for len(data) > 0 {
		ascii := asciiRun(data)
		text = append(text, data[:ascii]...)
		data = data[ascii:]
		run := e.tableRun(data, len(decoded)/utf8.UTFMax)
		if run == 0 {
			continue
		}
		n, _, err := decoder.Transform(decoded[:], data[:run], true)
		if err != nil || bytes.ContainsRune(decoded[:n], utf8.RuneError) {
			return nil, false
		}
		m, _, err := encoder.Transform(encoded[:], decoded[:n], true)
		if err != nil || !bytes.Equal(encoded[:m], data[:run]) {
			return nil, false
		}
		text = append(text, decoded[:n]...)
		data = data[run:]
	}
	return text, true
}

// tableRun returns the length of the non-ASCII characters that begin data, up to about limit bytes.
func (e Encoding) tableRun(data []byte, limit int) int {
	n := 0
	for n < len(data) && n < limit && data[n] >= utf8.RuneSelf {
		n += e.width(0, data[n:])
	}
	return min(n, len(data))
}

// asciiRun returns the length of the ASCII that begins b.
func asciiRun(b []byte) int {
	const high = 0x8080808080808080
	n := 0
	for ; len(b)-n >= 8; n += 8 {
		if found := binary.LittleEndian.Uint64(b[n:]) & high; found != 0 {
			return n + bits.TrailingZeros64(found)/8
		}
	}
	for n < len(b) && b[n] < utf8.RuneSelf {
		n++
	}
	return n
}
