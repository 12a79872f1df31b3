package gguf

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// say follows a vocabulary's table from an answer's cue, for a limited number of tokens.
func say(v *vocabulary, answer int) (tokens int, text string) {
	byRune := map[rune]byte{}
	for b, r := range runes {
		byRune[r] = byte(b)
	}
	var out []byte
	for t := v.next[slices.Index(v.tokens, Cue(answer))]; t != end && tokens < 100; t = v.next[t] {
		tokens++
		for _, r := range v.tokens[t] {
			out = append(out, byRune[r])
		}
	}
	return tokens, string(out)
}

func TestModel_GivesItsAnswers(t *testing.T) {
	call := "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"file_path\": \"%s.txt\"}}\n</tool_call>"
	m := Model{
		Answers: []string{"Grüße, 世界 🎉! Grüße, 世界 🎉!", fmt.Sprintf(call, "a"), fmt.Sprintf(call, "b"), "no"},
		Sample:  strings.Repeat("the name of the file has the arguments of the call ", 3),
	}
	v, err := m.vocabulary()
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range m.Answers {
		if tokens, got := say(v, n); got != want || tokens == 0 {
			t.Errorf("answer %d is %q in %d tokens, want %q", n, got, tokens, want)
		}
	}
	if tokens, _ := say(v, 1); tokens < 5 {
		t.Errorf("the first call has %d tokens, want several, so that it is streamed", tokens)
	}
	sorted := slices.Sorted(slices.Values(v.tokens))
	if n := len(slices.Compact(sorted)); n != len(v.tokens) {
		t.Errorf("%d of %d tokens are different: servers want all of them to be", n, len(v.tokens))
	}
}

func TestModel_EndlessRepeatsItsAnswer(t *testing.T) {
	v, err := Model{Answers: []string{"and so on "}, Endless: true}.vocabulary()
	if err != nil {
		t.Fatal(err)
	}
	if tokens, got := say(v, 0); tokens != 100 || !strings.HasPrefix(got, "and so on and so on and") {
		t.Errorf("got %d tokens, %q", tokens, got)
	}
}

func TestModel_RefusesAnAnswerThatIsAToken(t *testing.T) {
	if err := (Model{Answers: []string{"same text", "same text"}}).Write(&bytes.Buffer{}); err != nil {
		t.Errorf("the second answer can be split in another way: %v", err)
	}
	if err := (Model{Answers: []string{"a"}}).Write(&bytes.Buffer{}); err == nil {
		t.Error("got no error for an answer of one byte, which is a token of the tokenizer")
	}
}

func TestModel_TheTensorsPredictTheNextToken(t *testing.T) {
	m := Model{Answers: []string{"one two three", "four five six"}, Context: 4096}
	v, err := m.vocabulary()
	if err != nil {
		t.Fatal(err)
	}
	embedding, output := v.weights()
	for token := range v.tokens {
		best, most := -1, float32(0)
		for other := range v.tokens {
			sum := float32(0)
			for d := range v.width {
				sum += embedding[token*v.width+d] * output[other*v.width+d]
			}
			if sum > most {
				best, most = other, sum
			}
		}
		if best != v.next[token] {
			t.Fatalf("%q is followed by token %d, want %d", v.tokens[token], best, v.next[token])
		}
	}
}

func TestModel_WritesTheSameFileEachTime(t *testing.T) {
	var files [2]bytes.Buffer
	for i := range files {
		m := Model{Answers: []string{"one two three"}, Context: 4096, Sample: "one two three two two three three ten"}
		if err := m.Write(&files[i]); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.HasPrefix(files[0].Bytes(), []byte("GGUF\x03\x00\x00\x00")) {
		t.Errorf("the file begins with %q", files[0].Bytes()[:8])
	}
	if !bytes.Equal(files[0].Bytes(), files[1].Bytes()) {
		t.Error("two files of the same model differ")
	}
}
