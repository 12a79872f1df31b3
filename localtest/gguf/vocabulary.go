package gguf

import (
	"fmt"
	"strings"
)

// vocabulary is the tokenizer and the table of successors.
type vocabulary struct {
	tokens    []string
	types     []int32
	merges    []string
	next      []int // the token that follows each token
	dimension []int // the dimension of each token; 0 is shared by those that the end follows
	width     int   // number of dimensions
	known     map[string]bool
}

// end is the token that ends an answer.
const end = 0

// Types of tokens.
const (
	normal  = 1
	control = 3
)

func (m Model) vocabulary() (*vocabulary, error) {
	v := &vocabulary{known: map[string]bool{}, width: 1}
	v.token("<|end|>", control)
	for b := range 256 {
		v.token(printable(string([]byte{byte(b)})), normal)
	}
	v.learn(m.Sample)
	for n, answer := range m.Answers {
		pieces, err := v.split(answer)
		if err != nil {
			return nil, fmt.Errorf("answer %d: %w", n, err)
		}
		from := v.token(Cue(n), control)
		first := len(v.tokens)
		for _, p := range pieces {
			t := v.token(p, normal)
			v.follow(from, t)
			from = t
		}
		if m.Endless {
			v.follow(from, first)
		}
	}
	const multiple = 32 // of which servers want the width to be
	v.width = (v.width + multiple - 1) / multiple * multiple
	return v, nil
}

// token adds a token and returns its number.
func (v *vocabulary) token(text string, kind int32) int {
	v.known[text] = true
	v.tokens, v.types = append(v.tokens, text), append(v.types, kind)
	v.next, v.dimension = append(v.next, end), append(v.dimension, 0)
	return len(v.tokens) - 1
}

// follow makes one token the successor of another.
func (v *vocabulary) follow(from, to int) {
	v.next[from], v.dimension[from] = to, v.width
	v.width++
}

// weights returns the embedding and the output matrix, a row for each token. A token's score is the product of its
// output row and the previous token's embedding.
func (v *vocabulary) weights() (embedding, output []float32) {
	n := len(v.tokens) * v.width
	embedding, output = make([]float32, n), make([]float32, n)
	for t, d := range v.dimension {
		embedding[t*v.width+d] = 1
		output[v.next[t]*v.width+d] = 100 // so that no sampler chooses another token
	}
	return embedding, output
}

// split splits an answer into pieces that are not tokens yet. They have four bytes, or more where that is necessary. A
// piece may end within a character, as real models' pieces do.
func (v *vocabulary) split(answer string) ([]string, error) {
	var pieces []string
	used := map[string]bool{}
	for answer != "" {
		n := min(4, len(answer))
		for n < len(answer) && (v.known[printable(answer[:n])] || used[printable(answer[:n])]) {
			n++
		}
		p := printable(answer[:n])
		for v.known[p] || used[p] {
			if len(pieces) == 0 {
				return nil, fmt.Errorf("the text %q is already a token", answer)
			}
			last := pieces[len(pieces)-1]
			pieces, p = pieces[:len(pieces)-1], last+p
		}
		used[p] = true
		pieces, answer = append(pieces, p), answer[n:]
	}
	return pieces, nil
}

// printable writes each byte as the character that stands for it in the tokenizer of GPT-2.
func printable(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		b.WriteRune(runes[c])
	}
	return b.String()
}

var runes = func() (table [256]rune) {
	other := rune(256)
	for b := range rune(256) {
		if '!' <= b && b <= '~' || '¡' <= b && b <= '¬' || '®' <= b && b <= 'ÿ' {
			table[b] = b
			continue
		}
		table[b] = other
		other++
	}
	return table
}()
