package event

import (
	"bytes"
	"strings"

	"github.com/reins-agent/reins/internal/jsonscan"
)

// lift takes members that may be long out of a JSON object, so that encoding/json does not go over
// them many times. It gives their values, nil for one that is not there, and the object without
// them, and checks neither. It reads only what MarshalJSON writes: compact, and each of the members
// once.
func lift(object []byte, names ...string) (values [][]byte, rest []byte, ok bool) {
	values = make([][]byte, len(names))
	rest = append(make([]byte, 0, 256), '{')
	r := jsonscan.Read(object)
	r.Open("{")
	for r.More() {
		key, value := r.Key(), r.Raw()
		i, ok := which(key, names)
		switch {
		case !ok || i >= 0 && values[i] != nil:
			return nil, nil, false
		case i >= 0:
			values[i] = value
		default:
			rest = append(append(append(rest, '"'), key...), `":`...)
			rest = append(append(rest, value...), ',')
		}
	}
	r.Close("}")
	return values, append(bytes.TrimSuffix(rest, []byte(",")), '}'), r.Done()
}

// which is the index of a key among names, or -1. A key that encoding/json would take for one of
// them without being it is not ok.
func which(key []byte, names []string) (int, bool) {
	for i, name := range names {
		if string(key) == name {
			return i, true
		}
		if strings.EqualFold(string(key), name) {
			return -1, false
		}
	}
	return -1, true
}

// text is the text of a string, "" if there is none.
func text(value []byte) (string, bool) {
	if value == nil {
		return "", true
	}
	r := jsonscan.Read(value)
	s := r.Text()
	return s, r.Done()
}

// isText reports whether there is no value, or one that is a string.
func isText(value []byte) bool {
	if value == nil {
		return true
	}
	r := jsonscan.Read(value)
	r.Skip()
	return r.Done()
}
