package gguf

import (
	"regexp"
	"slices"
	"strings"
)

// learned is how many tokens the tokenizer learns at most. With 1,000, English text and JSON have three to four
// bytes per token, as with real models.
const learned = 1000

// word is a word or punctuation. The tokenizer joins bytes only within them.
var word = regexp.MustCompile(` ?\pL+| ?[^\s\pL\pN]+`)

// learn adds the tokens that byte-pair encoding finds in a text's words.
func (v *vocabulary) learn(sample string) {
	count := map[string]int{}
	for _, w := range word.FindAllString(sample, -1) {
		count[printable(w)]++
	}
	words := map[string][]string{} // the tokens of each word
	for w := range count {
		words[w] = strings.Split(w, "")
	}
	for range learned {
		pair, ok := commonest(words, count)
		if !ok {
			return
		}
		v.merges = append(v.merges, pair[0]+" "+pair[1])
		if joined := pair[0] + pair[1]; !v.known[joined] {
			v.token(joined, normal)
		}
		for w, tokens := range words {
			words[w] = join(tokens, pair)
		}
	}
}

// commonest returns the commonest pair of adjacent tokens, and the first of several.
func commonest(words map[string][]string, count map[string]int) (best [2]string, ok bool) {
	pairs := map[[2]string]int{}
	for w, tokens := range words {
		for i := range len(tokens) - 1 {
			pairs[[2]string(tokens[i:i+2])] += count[w]
		}
	}
	most := 1 // a pair that occurs once is not worth a token
	for p, n := range pairs {
		if n > most || ok && n == most && slices.Compare(p[:], best[:]) < 0 {
			best = p
			most = n
			ok = true
		}
	}
	return best, ok
}

// join replaces a pair of tokens with one.
func join(tokens []string, pair [2]string) []string {
	var out []string
	for i := 0; i < len(tokens); i++ {
		if i+1 < len(tokens) && tokens[i] == pair[0] && tokens[i+1] == pair[1] {
			out = append(out, pair[0]+pair[1])
			i++
			continue
		}
		out = append(out, tokens[i])
	}
	return out
}
