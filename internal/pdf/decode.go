package pdf

import (
	"bytes"
	"compress/lzw"
	"compress/zlib"
	"encoding/ascii85"
	"io"
)

// decode returns a stream's content, or as much as could be decoded. It returns nil if a filter is not supported, such
// as image filters.
func (d *document) decode(s *stream) []byte {
	filters, params := d.resolve(s.dict["Filter"]), d.resolve(s.dict["DecodeParms"])
	list, ok := filters.([]any)
	if !ok && filters != nil {
		list, params = []any{filters}, []any{params}
	}
	data := s.raw
	for i, f := range list {
		var param dict
		if all, ok := params.([]any); ok && i < len(all) {
			param = d.dict(all[i])
		}
		if data = d.filter(data, d.resolve(f), param); data == nil {
			return nil
		}
	}
	if len(list) == 0 {
		data = d.read(bytes.NewReader(data))
	}
	return data
}

// filter applies one filter.
func (d *document) filter(data []byte, filter any, param dict) []byte {
	switch filter {
	case name("FlateDecode"), name("Fl"):
		r, err := zlib.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil
		}
		return d.unpredict(d.read(r), param)
	case name("LZWDecode"), name("LZW"):
		if early, ok := d.resolve(param["EarlyChange"]).(float64); !ok || early != 0 {
			return nil // package lzw does not support the default of PDF
		}
		return d.unpredict(d.read(lzw.NewReader(bytes.NewReader(data), lzw.MSB, 8)), param)
	case name("ASCIIHexDecode"), name("AHx"):
		return []byte((&parser{data: data}).hex())
	case name("ASCII85Decode"), name("A85"):
		data, _, _ = bytes.Cut(data, []byte("~>"))
		return d.read(ascii85.NewDecoder(bytes.NewReader(data)))
	}
	return nil
}

// read reads up to the remaining decoding limit. After an error it returns the bytes read so far, because the rest is
// damaged.
func (d *document) read(r io.Reader) []byte {
	data, _ := io.ReadAll(io.LimitReader(r, int64(d.left)+1))
	if len(data) > d.left {
		d.err = ErrTooLarge
		return nil
	}
	d.left -= len(data)
	return data
}

// unpredict reverses the PNG row filters, which object streams use.
func (d *document) unpredict(data []byte, param dict) []byte {
	number := func(key name, otherwise int) int {
		if n, ok := d.resolve(param[key]).(float64); ok && n >= 1 && n <= 1<<16 {
			return int(n)
		}
		return otherwise
	}
	if number("Predictor", 1) < 10 {
		return data
	}
	bits := number("Colors", 1) * number("BitsPerComponent", 8)
	size, row := max(bits/8, 1), min((number("Columns", 1)*bits+7)/8, len(data))
	above, out := make([]byte, row), data[:0]
	for len(data) > 1 {
		kind, line := data[0], data[1:min(1+row, len(data))]
		data = data[1+len(line):]
		for i := range line {
			var left, corner byte
			if i >= size {
				left, corner = line[i-size], above[i-size]
			}
			switch kind {
			case 1:
				line[i] += left
			case 2:
				line[i] += above[i]
			case 3:
				line[i] += byte((int(left) + int(above[i])) / 2)
			case 4:
				line[i] += paeth(left, above[i], corner)
			}
		}
		out = append(out, line...) // shares memory with data, but never overtakes the reads
		copy(above, out[len(out)-len(line):])
	}
	return out
}

// paeth returns the neighbour that is nearest to left + above - corner.
func paeth(left, above, corner byte) byte {
	p := int(left) + int(above) - int(corner)
	distance := func(b byte) int { return max(p-int(b), int(b)-p) }
	switch a, b, c := distance(left), distance(above), distance(corner); {
	case a <= b && a <= c:
		return left
	case b <= c:
		return above
	}
	return corner
}
