package wire

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

// sent is a copied event.
type sent struct {
	name, data string
	cut        bool
}

func events(r io.Reader, limit int) (list []sent, err error) {
	s := newSSE(r, limit)
	for {
		ev, err := s.next()
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		list = append(list, sent{string(ev.Name), string(ev.Data), ev.Cut})
	}
}

func TestSSE_FollowsTheStandard(t *testing.T) {
	tests := []struct {
		name, in string
		want     []sent
	}{
		{"one event", "data: x\n\n", []sent{{"", "x", false}}},
		{"name and data", "event: e\ndata: x\n\n", []sent{{"e", "x", false}}},
		{"data before name", "data: x\nevent: e\n\n", []sent{{"e", "x", false}}},
		{"several lines of data", "data: YHOO\ndata: +2\ndata: 10\n\n", []sent{{"", "YHOO\n+2\n10", false}}},
		{"one space is taken off, no more", "data:a\n\ndata: b\n\ndata:  c\n\ndata:\td\n\n", []sent{{"", "a", false}, {"", "b", false}, {"", " c", false}, {"", "\td", false}}},
		{"data without a colon", "data\n\ndata\ndata\n\n", []sent{{"", "", false}, {"", "\n", false}}},
		{"empty data is data", "data:\n\n", []sent{{"", "", false}}},
		{"a name alone is no event", "event: e\n\ndata: x\n\n", []sent{{"", "x", false}}},
		{"the last name counts", "event: a\nevent: b\ndata: x\n\n", []sent{{"b", "x", false}}},
		{"comments are passed over", ": hello\n\n:\ndata: x\n: in between\ndata: y\n\n", []sent{{"", "x\ny", false}}},
		{"other fields are passed over", "id: 1\nretry: 5\nfoo: bar\nDATA: no\n data: no\ndata: x\n\n", []sent{{"", "x", false}}},
		{"CRLF", "event: e\r\ndata: x\r\ndata: y\r\n\r\n", []sent{{"e", "x\ny", false}}},
		{"CR", "data: x\rdata: y\r\rdata: z\r\r", []sent{{"", "x\ny", false}, {"", "z", false}}},
		{"line ends mixed", "data: x\r\ndata: y\rdata: z\n\r\n", []sent{{"", "x\ny\nz", false}}},
		{"byte order mark", "\uFEFFdata: x\n\n", []sent{{"", "x", false}}},
		{"a second mark is no mark", "\uFEFF\uFEFFdata: x\n\ndata: y\n\n", []sent{{"", "y", false}}},
		{"colon in the value", "data: {\"a\": \"b:c\"}\n\n", []sent{{"", `{"a": "b:c"}`, false}}},
		{"many blank lines", "\n\n\ndata: x\n\n\n\n", []sent{{"", "x", false}}},
		{"no final newline", "data: x", []sent{{"", "x", true}}},
		{"no final blank line", "data: x\n", []sent{{"", "x", true}}},
		{"ends in the middle of a field name", "data: x\n\nda", []sent{{"", "x", false}}},
		{"empty", "", nil},
		{"only comments", ": ping\n\n: ping\n\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{
				"at once":       strings.NewReader(tt.in),
				"byte by byte":  iotest.OneByteReader(strings.NewReader(tt.in)),
				"by halves":     iotest.HalfReader(strings.NewReader(tt.in)),
				"end with data": iotest.DataErrReader(strings.NewReader(tt.in)),
			} {
				got, err := events(r, 1000)
				if err != nil || !reflect.DeepEqual(got, tt.want) {
					t.Errorf("%s: %+v, %v; want %+v", how, got, err, tt.want)
				}
			}
		})
	}
}

func TestSSE_EventsUpToTheLimitPassWhateverTheirSize(t *testing.T) {
	big := strings.Repeat("x", 5<<20)
	got, err := events(strings.NewReader("data: "+big+"\n\n"), 5<<20)
	if err != nil || len(got) != 1 || got[0].data != big {
		t.Errorf("got %d events, error %v", len(got), err)
	}
}

func TestSSE_OversizedEventsAreErrorsAndNotBuffered(t *testing.T) {
	for name, r := range map[string]io.Reader{
		"one endless line":     endless("x"),
		"endless data lines":   endless("data: x\n"),
		"endless empty data":   endless("data\n"),
		"one endless comment":  endless(":"),
		"one endless name":     io.MultiReader(strings.NewReader("event: "), endless("e")),
		"a line over by a bit": strings.NewReader("data: " + strings.Repeat("x", 1001) + "\n\n"),
	} {
		_, err := events(r, 1000)
		if err == nil || !strings.Contains(err.Error(), "limit of 1000 bytes") {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}

// endless repeats a text.
type endless string

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n+len(e) <= len(p) {
		n += copy(p[n:], e)
	}
	return n, nil
}

func TestSSE_ReadErrorFollowsWholeEvents(t *testing.T) {
	boom := errors.New("boom")
	got, err := events(io.MultiReader(strings.NewReader("data: x\n\ndata: y\n"), iotest.ErrReader(boom)), 1000)
	if !errors.Is(err, boom) || len(got) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// reference splits a stream in the simplest way.
func reference(in string) (list []sent) {
	in = strings.TrimPrefix(in, "\uFEFF")
	in = strings.ReplaceAll(strings.ReplaceAll(in, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(in, "\n")
	whole := lines[:len(lines)-1]
	var ev sent
	var data []string
	field := func(line string) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "data":
			data = append(data, value)
		case "event":
			ev.name = value
		}
	}
	flush := func(cut bool) {
		if data != nil {
			ev.data, ev.cut = strings.Join(data, "\n"), cut
			list = append(list, ev)
		}
		ev, data = sent{}, nil
	}
	for _, line := range whole {
		if line == "" {
			flush(false)
		} else {
			field(line)
		}
	}
	if last := lines[len(lines)-1]; last != "" {
		field(last)
	}
	flush(true)
	return list
}

// FuzzSSE checks that the chunks in which a stream arrives make no difference.
func FuzzSSE(f *testing.F) {
	f.Add([]byte("event: e\r\ndata: x\rdata: y\n\n: c\n\ndata"), uint8(1))
	f.Add([]byte("\uFEFFdata: x\n\ndata:y\n\r\n\r"), uint8(2))
	f.Add([]byte("\r\n\r\ndata\r\rdata:\n\nevent:z\n\ndata: 1"), uint8(3))
	f.Fuzz(func(t *testing.T, in []byte, chunk uint8) {
		want := reference(string(in))
		got, err := events(&chunks{in, int(chunk%16) + 1}, 1<<20)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q in chunks of %d gives %+v, %v; want %+v", in, chunk%16+1, got, err, want)
		}
		if small, err := events(bytes.NewReader(in), 8); err == nil && !reflect.DeepEqual(small, want) {
			t.Fatalf("with a small limit %q gives %+v, want %+v or an error", in, small, want)
		}
	})
}

// chunks reads n bytes at a time.
type chunks struct {
	data []byte
	n    int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), c.n)], c.data)
	c.data = c.data[n:]
	return n, nil
}
