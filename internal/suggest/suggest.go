// Package suggest finds the words that a mistyped one may stand for.
package suggest

import (
	"cmp"
	"slices"
	"strings"
)

// Words returns up to two words, the nearest first, that differ from a mistyped one in a few letters or
// contain it.
func Words(word string, words []string) []string {
	word = strings.ToLower(word)
	limit := min(3, (len(word)+2)/3)
	return Nearest(words, 2, func(w string) (int, bool) {
		wrong := Distance(word, strings.ToLower(w))
		if wrong > limit && len(word) >= 4 && strings.Contains(w, word) {
			return limit + 1, true
		}
		return wrong, wrong <= limit
	})
}

// Or returns words as "a, b or c".
func Or[S ~string](words []S) string {
	var b strings.Builder
	for i, w := range words {
		switch i {
		case 0:
		case len(words) - 1:
			b.WriteString(" or ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(string(w))
	}
	return b.String()
}

// Nearest returns the words that match, up to a maximum, with the lowest score first.
func Nearest(words []string, maximum int, match func(word string) (score int, ok bool)) []string {
	type scored struct {
		word  string
		score int
	}
	var found []scored
	for _, w := range words {
		if score, ok := match(w); ok {
			found = append(found, scored{w, score})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(a.score, b.score) })
	var near []string
	for _, f := range found[:min(len(found), maximum)] {
		near = append(near, f.word)
	}
	return near
}

// Distance returns how many bytes must be changed, added, removed or swapped with their neighbour to
// turn a into b.
func Distance(a, b string) int {
	above, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			change := row[j]
			if a[i] != b[j] {
				change++
			}
			next[j+1] = min(change, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], above[j-1]+1)
			}
		}
		above, row = row, next
	}
	return row[len(b)]
}
