package remote

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
)

func FuzzReadEvent(f *testing.F) {
	for _, s := range []string{
		"id: 1\nevent: record\ndata: {}\n\n", ":\n\n", "data: a\ndata: b\r\n\r\n", "event: end\ndata", "\n\n", "data:\n\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		in := bufio.NewReaderSize(bytes.NewReader(b), 16)
		whole := bufio.NewReader(bytes.NewReader(b))
		for {
			e, err := readEvent(in)
			other, failed := readEvent(whole)
			if (err == nil) != (failed == nil) || e.kind != other.kind || !bytes.Equal(e.data, other.data) {
				t.Fatalf("a small buffer reads %q %v, a large one %q %v", e, err, other, failed)
			}
			if err != nil {
				return
			}
			if strings.Contains(e.kind, "\n") {
				t.Fatalf("a kind has a line break: %q", e.kind)
			}
		}
	})
}
