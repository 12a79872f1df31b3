package skill

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Registry holds skills by name. The zero value is empty. Changes must not be concurrent with other uses.
type Registry struct {
	skills   map[string]*Skill
	agentMap map[string]Agent
	problems []Problem
}

// Add adds a skill, replacing a skill with the same name.
func (r *Registry) Add(s *Skill) {
	if r.skills == nil {
		r.skills = map[string]*Skill{}
	}
	r.skills[s.Name] = s
}

func (r *Registry) addAgent(a Agent) {
	if r.agentMap == nil {
		r.agentMap = map[string]Agent{}
	}
	r.agentMap[a.Name] = a
}

// Find returns the available skill with this name, or else with this alias.
func (r *Registry) Find(name string) (*Skill, bool) {
	if r == nil {
		return nil, false
	}
	if s, ok := r.skills[name]; ok && s.available() {
		return s, true
	}
	for _, s := range slices.Backward(r.All()) {
		if slices.Contains(s.Aliases, name) {
			return s, true
		}
	}
	return nil, false
}

// rank orders the sources in [Registry.All].
var rank = map[Source]int{Builtin: 0, User: 1, Config: 2, Project: 3}

// All lists the available skills, sorted by source (built-in first, project last) and then by name.
func (r *Registry) All() []*Skill {
	if r == nil {
		return nil
	}
	list := slices.DeleteFunc(slices.Collect(maps.Values(r.skills)), func(s *Skill) bool { return !s.available() })
	slices.SortFunc(list, func(a, b *Skill) int {
		return cmp.Or(cmp.Compare(rank[a.Source], rank[b.Source]), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// Agents lists the agents by name.
func (r *Registry) Agents() []Agent {
	if r == nil {
		return nil
	}
	return slices.SortedFunc(maps.Values(r.agentMap), func(a, b Agent) int { return cmp.Compare(a.Name, b.Name) })
}

// Problems lists the skills, commands and agents that could not be loaded.
func (r *Registry) Problems() []Problem {
	if r == nil {
		return nil
	}
	return r.problems
}

// DefaultBudget is the default length limit for a listing in bytes, about 4,000 tokens.
const DefaultBudget = 16 << 10

// Listing describes the skills that the model may use, one per line, in at most budget bytes. Descriptions are
// shortened to fit. Skills are omitted only if the names alone do not fit; the last line then reports how many.
func (r *Registry) Listing(budget int) string {
	var list []*Skill
	for _, s := range r.All() {
		if s.ModelInvoked {
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		return ""
	}
	low, high := 0, maxDescription+500
	for low < high { // find the longest descriptions that fit
		if mid := (low + high + 1) / 2; len(listing(list, mid)) <= budget {
			low = mid
		} else {
			high = mid - 1
		}
	}
	text := listing(list, low)
	if len(text) <= budget {
		return text
	}
	n := len(list)
	for n > 0 && len(text) > budget {
		n--
		text = listing(list[:n], 0) + fmt.Sprintf("\nThere are %d more skills than fit here; the user can name them.", len(list)-n)
	}
	return text
}

// listing lists skills, with at most limit characters from each description.
func listing(list []*Skill, limit int) string {
	var b strings.Builder
	for i, s := range list {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("- " + s.Name)
		about := oneLine(s.Description)
		if s.WhenToUse != "" {
			about += " Use when: " + oneLine(s.WhenToUse)
		}
		if about = shorten(about, limit); about != "" {
			b.WriteString(": " + about)
		}
	}
	return b.String()
}

// oneLine joins words with single spaces.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// shorten truncates text to at most limit characters.
func shorten(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	if limit < 8 {
		return ""
	}
	return strings.TrimRight(string([]rune(s)[:limit-1]), " ") + "…"
}
