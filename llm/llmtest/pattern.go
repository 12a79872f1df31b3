package llmtest

import (
	"regexp"
	"sync"
)

// pattern is compiled when it is first used: programs that only link this package, as those do that
// have a demo, do not pay for it when they start.
type pattern struct {
	text    string
	compile func() *regexp.Regexp
}

func newPattern(text string) pattern {
	return pattern{text, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

func (p pattern) MatchString(s string) bool { return p.compile().MatchString(s) }
func (p pattern) String() string            { return p.text }
