package gemini

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/llm"
)

// standInSignature is what Google documents for calls that have no signature because another
// model, or nobody, made them: the words skip_thought_signature_validator, in base64 as all bytes
// in JSON.
const standInSignature = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="

// model is what encoding needs to know of a model.
type model struct {
	name    string // as requested
	version int    // its generation, 0 if the name does not tell
	info    llm.Model
}

func (d dialect) model(name string) model {
	base := name[strings.LastIndexByte(name, '/')+1:]
	m := model{name: name, version: generation(base)}
	m.info, _ = d.catalogue.Exact("gemini", base)
	if m.version == 0 && m.info.Thinking == "level" {
		m.version = 3
	}
	return m
}

// generation reads the leading number off "gemini-2.5-flash". The names that end in "-latest"
// stand for the current generation.
func generation(name string) int {
	rest, ok := strings.CutPrefix(name, "gemini-")
	if !ok {
		return 0
	}
	end := 0
	for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
		end++
	}
	if n, err := strconv.Atoi(rest[:end]); err == nil {
		return n
	}
	if strings.HasSuffix(name, "-latest") {
		return 3
	}
	return 0
}

// needsSignatures reports whether the model refuses calls without a signature.
func (m model) needsSignatures() bool { return m.version >= 3 }

// takesMedia reports whether a function response may hold this kind of media. A model that is
// not known is taken for a current one.
func (m model) takesMedia(mime string) bool {
	switch {
	case m.version == 0:
		return true
	case m.version < 3:
		return false
	}
	return strings.HasPrefix(mime, "image/") || mime == "application/pdf" || mime == "text/plain"
}

// path is where the model's method is called.
func (m model) path(method string) string {
	name := m.name
	if !strings.Contains(name, "/") {
		name = "models/" + name
	}
	segments := strings.Split(name, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return "/v1beta/" + strings.Join(segments, "/") + ":" + method
}

// usesLevels reports whether the model's thinking is set by a word instead of a number of tokens.
func (m model) usesLevels() bool {
	switch m.info.Thinking {
	case "level", "effort":
		return true
	case "budget":
		return false
	}
	return m.version == 0 || m.version >= 3
}

// effortWords are the efforts in use, least first.
var effortWords = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// level is the thinkingLevel nearest to an effort among those that the model takes. Words that
// are not known are left to the API.
func (m model) level(effort string) string {
	levels := m.info.Efforts
	if len(levels) == 0 {
		levels = []string{"minimal", "low", "medium", "high"}
	}
	want := slices.Index(effortWords, effort)
	if want < 0 || slices.Contains(levels, effort) && effort != "none" {
		return effort
	}
	best, distance := effort, len(effortWords)
	for _, l := range levels {
		at := slices.Index(effortWords, l)
		if gap := max(at-want, want-at); l != "none" && at >= 0 && gap < distance {
			best, distance = l, gap
		}
	}
	return best
}

// budget is the thinkingBudget for an effort, with Google's own figures for these words.
func (m model) budget(effort string) int {
	switch effort {
	case "none":
		if strings.Contains(m.name, "-pro") {
			return 128 // Pro models cannot be kept from thinking.
		}
		return 0
	case "minimal", "low":
		return 1024
	case "medium":
		return 8192
	}
	return 24576
}
