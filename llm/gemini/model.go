package gemini

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
)

// standInSignature is Google's documented placeholder for calls whose signature is unknown or comes from another model.
const standInSignature = "skip_thought_signature_validator"

// model describes a model for encoding.
type model struct {
	name    string // as requested
	version int    // its generation, or 0 if unknown
	info    llm.Model
}

func (d dialect) model(name string) model {
	base := name[strings.LastIndexByte(name, '/')+1:]
	m := model{name: name, version: generation(base)}
	m.info = d.info(base, m.version)
	if m.version == 0 && m.info.Thinking == "level" {
		m.version = 3
	}
	return m
}

// info returns the catalogue's entry for a model. Unknown models have the same rules as the newest model in their
// family, unless their names show that they are older than thinking levels.
func (d dialect) info(name string, version int) llm.Model {
	info, ok := d.catalogue.Exact("gemini", name)
	if !ok && (version == 0 || version >= 3) {
		info, _ = d.catalogue.Like("gemini", name)
	}
	if info.Provider != "gemini" {
		return llm.Model{}
	}
	return info
}

// generation returns the first number in a name such as "gemini-2.5-flash". Names that end in "-latest" mean the
// current generation.
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

// needsSignatures reports whether the model requires signatures on calls.
func (m model) needsSignatures() bool { return m.version >= 3 }

// takesMedia reports whether a function response may contain this media type. Unknown models are assumed to be current.
func (m model) takesMedia(mime string) bool {
	switch {
	case m.version == 0:
		return true
	case m.version < 3:
		return false
	}
	return strings.HasPrefix(mime, "image/") || mime == "application/pdf" || mime == "text/plain"
}

// path returns the URL path for a method.
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

// usesLevels reports whether thinking is set by a level instead of a token budget.
func (m model) usesLevels() bool {
	switch {
	case m.info.Thinking == "level", m.info.Thinking == "effort", m.info.Rules.Budget == llm.RefusedAlways:
		return true
	case m.info.Thinking == "budget":
		return false
	}
	return m.version == 0 || m.version >= 3
}

// thinks reports whether the model thinks in answer to a request, as far as the catalogue knows.
func (m model) thinks(r *llm.Request) bool {
	switch {
	case m.info.Thinking == "level":
		return true
	case r.ThinkingBudget != nil:
		return *r.ThinkingBudget != 0
	case r.Effort != "":
		return r.Effort != "none"
	}
	return m.info.Rules.Thinks
}

// effortWords lists the efforts, least first.
var effortWords = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// level returns the supported thinkingLevel nearest to an effort. It returns an unknown effort unchanged.
func (m model) level(effort string) string {
	levels := m.info.Efforts
	if len(levels) == 0 {
		levels = []string{"low", "medium", "high"}
	}
	return wire.Effort(effort, slices.DeleteFunc(slices.Clone(levels), func(l string) bool { return l == "none" }))
}

// budget returns the thinkingBudget for an effort, as Google documents it.
func (m model) budget(effort string) int {
	switch effort {
	case "none":
		if strings.Contains(m.name, "-pro") {
			return 128 // thinking of Pro models cannot be disabled
		}
		return 0
	case "minimal", "low":
		return 1024
	case "medium":
		return 8192
	}
	return 24576
}
