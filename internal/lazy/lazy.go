// Package lazy delays work that most processes never need, so that it does not slow down every start.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp compiles a pattern when it is first used. It panics then if the pattern is invalid.
func Regexp(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
