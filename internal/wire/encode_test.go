package wire_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

func TestEncoder_PlacesCommas(t *testing.T) {
	var e wire.Encoder
	e.Open('{')
	e.Key("a")
	e.Open('[')
	e.Int(1)
	e.Str("two,")
	e.Open('[')
	e.Close(']')
	e.Open('{')
	e.Close('}')
	e.Bool(true)
	e.Float(0.5)
	e.Raw([]byte(`{"raw":[]}`))
	e.Close(']')
	e.StrField("empty", "")
	e.StrField("b", "x")
	e.Key("c")
	e.Base64("data:image/png;base64,", []byte{1, 2, 3})
	e.Close('}')
	const want = `{"a":[1,"two,",[],{},true,0.5,{"raw":[]}],"b":"x","c":"data:image/png;base64,AQID"}`
	if string(e.Buf) != want {
		t.Errorf("%s, want %s", e.Buf, want)
	}
}

func TestEncoder_CanBeInterruptedAndContinued(t *testing.T) {
	var e wire.Encoder
	e.Open('[')
	e.Str("first")
	kept := string(e.Buf)
	e.Close(']')
	e.Buf = e.Buf[:len(kept)]
	e.Str("second")
	e.Close(']')
	if got := string(e.Buf); got != `["first","second"]` {
		t.Errorf("%s", got)
	}
}

func TestHead_OptionsReplaceAndExtend(t *testing.T) {
	h := wire.Head{Options: map[string]json.RawMessage{
		"temperature": json.RawMessage(`0.1`), "model": json.RawMessage(`null`), "zeta": json.RawMessage(` {"a": 1} `), "a\"b": json.RawMessage(`2`), "blank": json.RawMessage(` `),
	}}
	h.Open('{')
	for _, name := range []string{"model", "temperature", "stream"} {
		if h.Set(name) {
			h.Str("ours")
		}
	}
	h.Extra()
	h.Close('}')
	if want := `{"stream":"ours","a\"b":2,"temperature":0.1,"zeta":{"a": 1}}`; string(h.Buf) != want {
		t.Errorf("%s, want %s", h.Buf, want)
	}
}

func TestBody_BytesCoverAllPieces(t *testing.T) {
	b := llm.Body{[]byte("ab"), nil, []byte("c")}
	if got := string(b.Bytes()); got != "abc" {
		t.Errorf("got %q, want %q", got, "abc")
	}
}

// FuzzAppendString checks that encoding/json reads the string back, with U+FFFD for invalid UTF-8.
func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "plain", "\"\\/\b\f\n\r\t\x00\x1f\x7f", "é😀\u2028", "\xff\xfea\xe2\x28", "<script>&"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := wire.AppendString([]byte("x"), s)[1:]
		var got string
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%q is written as %q: %v", s, out, err)
		}
		if want := string([]rune(s)); got != want {
			t.Fatalf("%q comes back as %q, want %q", s, got, want)
		}
		if utf8.ValidString(s) && wire.Value(out).Str() != s {
			t.Fatalf("%q is read as %q", s, wire.Value(out).Str())
		}
	})
}
