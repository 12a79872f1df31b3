package codesearch

import "bytes"

// The limits of words.
const (
	minWord = 2
	maxWord = 64
)

// words calls emit with each word in a text: every identifier, and its parts if it has several. parseHTTPRequest has
// the words parsehttprequest, pars, http and request. The slice is valid only during the call.
func words(text []byte, emit func(word []byte)) {
	var buf [maxWord]byte
	for i := 0; i < len(text); {
		if !wordByte(text[i]) {
			i++
			continue
		}
		j := i + 1
		for j < len(text) && wordByte(text[j]) {
			j++
		}
		if j-i <= maxWord {
			parts(text[i:j], buf[:0], emit)
		}
		i = j
	}
}

// parts emits an identifier's parts, and the whole identifier if it has several.
func parts(id, whole []byte, emit func([]byte)) {
	start, n := 0, 0
	for i := 0; i <= len(id); i++ {
		if i < len(id) && !boundary(id, i) {
			continue
		}
		part := bytes.Trim(id[start:i], "_")
		start = i
		if len(part) == 0 {
			continue
		}
		at := len(whole)
		for _, c := range part {
			whole = append(whole, lower(c))
		}
		n++
		if word := stem(whole[at:]); len(word) >= minWord && !digits(word) {
			emit(word)
		}
	}
	if n > 1 {
		emit(whole)
	}
}

// boundary reports whether a part begins at an index: after an underscore, where lower case changes to upper case, or
// at the last of several capitals.
func boundary(id []byte, i int) bool {
	if i == 0 {
		return false
	}
	before, c := id[i-1], id[i]
	return before == '_' || upper(c) && (!upper(before) || i+1 < len(id) && isLower(id[i+1]))
}

// stem removes common endings, so that "saved", "saving" and "saves" are the same word.
func stem(w []byte) []byte {
	switch n := len(w); {
	case n > 5 && bytes.HasSuffix(w, []byte("ing")):
		w = w[:n-3]
	case n > 4 && bytes.HasSuffix(w, []byte("ed")):
		w = w[:n-2]
	case n > 3 && w[n-1] == 's' && w[n-2] != 's':
		w = w[:n-1]
	}
	if n := len(w); n > 3 && w[n-1] == 'e' {
		w = w[:n-1]
	}
	return w
}

// wordByte reports whether a byte belongs to a word. All non-ASCII bytes do.
func wordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || upper(c) || isLower(c)
}

func upper(c byte) bool { return 'A' <= c && c <= 'Z' }

func isLower(c byte) bool { return 'a' <= c && c <= 'z' || c >= 0x80 }

func lower(c byte) byte {
	if upper(c) {
		c += 'a' - 'A'
	}
	return c
}

func digits(w []byte) bool {
	for _, c := range w {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// common contains words that are not useful in a query.
var common = map[string]bool{}

func init() {
	words([]byte("a an and are as at be by can code do does find for from get has have how i if in into is it its of on or "+
		"that the then this to use used we what when where which who why with"), func(w []byte) { common[string(w)] = true })
}

// terms returns the words in a query, without common words unless it has no others.
func terms(query string) []string {
	var all, useful []string
	words([]byte(query), func(w []byte) {
		all = appendNew(all, string(w))
		if !common[string(w)] {
			useful = appendNew(useful, string(w))
		}
	})
	if len(useful) == 0 {
		useful = all
	}
	return useful[:min(len(useful), maxTerms)]
}

func appendNew(list []string, w string) []string {
	for _, x := range list {
		if x == w {
			return list
		}
	}
	return append(list, w)
}
