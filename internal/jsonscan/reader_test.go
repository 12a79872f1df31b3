package jsonscan

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestReader_ReadsAnObjectInItsOrder(t *testing.T) {
	r := Read([]byte(`{"a":"x","list":["1","2"],"yes":true,"raw":{"b":[1,"}"]},"last":"\u00e9"}`))
	r.Open("{")
	if r.Member("b") || !r.Member("a") || r.Text() != "x" || r.Member("missing") || !r.Member("list") {
		t.Fatal("the first members are not found")
	}
	var list []string
	r.Open("[")
	for r.More() {
		list = append(list, r.Text())
	}
	r.Close("]")
	if got := strings.Join(list, " "); got != "1 2" {
		t.Errorf("got list %s, want 1 2", got)
	}
	if !r.Member("yes") || !r.True() || !r.More() || string(r.Key()) != "raw" || string(r.Raw()) != `{"b":[1,"}"]}` {
		t.Error("the members after the list are not found")
	}
	if !r.Member("last") || r.Text() != "é" {
		t.Error("the last member is not found")
	}
	r.Close("}")
	if !r.Done() {
		t.Error("the reader is not done")
	}
}

func TestReader_FailsOnOtherForms(t *testing.T) {
	for _, text := range []string{``, `{`, `{}x`, ` {}`, `{"a":"x" }`, `{"a": "x"}`, `{"a":"x",}`, `{"b":"x"}`, `{"a":"x","a":"y"}`,
		`{"a":"x}`, `{"a":5}`, `{"a":"\x"}`, `{"a":"\u12"}`, `{"a":"\ud800"}`, "{\"a\":\"\x01\"}", "{\"a\":\"\xff\"}", `["a":"x"]`} {
		r := Read([]byte(text))
		r.Open("{")
		if r.Member("a") {
			_ = r.Text()
		}
		r.Close("}")
		if r.Done() && text != `{}` {
			t.Errorf("%q was read, want a failure", text)
		}
		if r.Open("{"); r.Done() || r.More() || r.Member("a") || r.Raw() != nil || r.Key() != nil || r.Last() != nil || r.Text() != "" || r.True() {
			t.Errorf("%q: the reader continues after a failure", text)
		}
	}
}

func TestReader_RawEndsWhereTheValueDoes(t *testing.T) {
	for _, value := range []string{`1`, `-1.5e3`, `null`, `""`, `"\\"`, `"\\\""`, `{}`, `[[],{"a":"]"}]`} {
		for _, rest := range []string{``, `,2`, `]`, `}`} {
			r := Read([]byte(value + rest))
			if got := string(r.Raw()); got != value {
				t.Errorf("%s%s: got %s, want %s", value, rest, got, value)
			}
		}
	}
	deep := strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1)
	for _, text := range []string{``, `,`, `]`, `{`, `[1`, `"`, deep} {
		r := Read([]byte(text))
		if got := r.Raw(); got != nil || r.Done() {
			t.Errorf("%.20s: got %.20s, want a failure", text, got)
		}
	}
}

func TestReader_ReadsTextsThatJSONWrites(t *testing.T) {
	var all strings.Builder
	for c := rune(0); c < 0x300; c++ {
		all.WriteRune(c)
	}
	for _, text := range []string{"", "x", all.String(), "\u2028\u2029 <&> \U0001F600 日本", strings.Repeat("1234567", 9) + "\n" + strings.Repeat("é", 9)} {
		b, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		r := Read(b)
		if got := r.Text(); got != text || !r.Done() {
			t.Errorf("got %q, want %q", got, text)
		}
		r = Read(b)
		if r.Skip(); !r.Done() {
			t.Errorf("%q is not skipped", text)
		}
	}
}

// FuzzText compares Text and Skip with encoding/json.
func FuzzText(f *testing.F) {
	for _, s := range []string{`"x"`, `"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"`, `"\ud83d"`, `"12345678\n1234567"`, "\"\x7f\x80\"", `"\u123"`, `""x`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var want string
		err := json.Unmarshal(b, &want)
		r := Read(b)
		got := r.Text()
		if r.Done() && (err != nil || got != want || !utf8.ValidString(got)) {
			t.Errorf("%q: got %q, want %q, error %v, as from encoding/json", b, got, want, err)
		}
		skip := Read(b)
		if skip.Skip(); skip.Done() && err != nil {
			t.Errorf("%q was skipped, but encoding/json fails: %v", b, err)
		}
	})
}

// FuzzRaw checks that Raw reads a whole value if it is valid.
func FuzzRaw(f *testing.F) {
	for _, s := range []string{`{"a":[1,"]"]}`, `"\\\""`, `[1,2]`, `1`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := Read(append(append([]byte{}, b...), `,"next"`...))
		value := r.Raw()
		if json.Valid(b) && len(b) < maxDepth && string(value) != string(b) {
			t.Errorf("got %q, want %q", value, b)
		}
	})
}
