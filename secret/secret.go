// Package secret replaces secrets in text with placeholders such as [redacted:github-token].
//
// A [Redactor] knows three kinds of secrets: keys and tokens with a recognizable shape, the values of environment
// variables and dotenv files, and configured patterns. It can redact a stream, including a secret that is split between
// two writes, and holds back only text that may begin a secret.
//
// Redaction protects against accidents. It does not recognize a secret that a program encodes before printing it.
package secret

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/internal/lazy"
)

// Config configures a Redactor. The zero Config redacts keys and tokens with a recognizable shape.
type Config struct {
	// Vars are environment variables as NAME=VALUE. Values of variables with a secret name are redacted.
	Vars []string
	// Env is searched for dotenv files, in its working directory and later below it. Their values are redacted like
	// Vars. nil means no dotenv files.
	Env env.Environment
	// Names names further variables whose values are secret; * matches any characters.
	Names []string
	// Patterns are regular expressions; their matches within a line are redacted.
	Patterns []string
}

// Redactor replaces secrets in text. It may be used concurrently. A nil Redactor changes nothing.
type Redactor struct {
	names    []*regexp.Regexp
	patterns []*regexp.Regexp
	rules    atomic.Pointer[rules]
	trusts   sync.Map // by name, at most maxTrusts
	known    atomic.Int32

	mu     sync.Mutex
	values map[string]string // placeholders by value
	files  *dotenv           // nil without an environment
}

// New returns a Redactor. It reads the dotenv files in the working directory, and ignores files that it cannot read.
// The first Refresh also looks below that directory. New fails if a pattern is invalid.
func New(ctx context.Context, c Config) (*Redactor, error) {
	r := &Redactor{values: make(map[string]string)}
	for _, p := range c.Patterns {
		re, err := regexp.Compile(p)
		if err != nil {
			return nil, fmt.Errorf("invalid secret pattern %q: %w", p, err)
		}
		if re.MatchString("") {
			return nil, fmt.Errorf("invalid secret pattern %q: it matches the empty string", p)
		}
		r.patterns = append(r.patterns, re)
	}
	for _, n := range c.Names {
		if strings.Trim(n, "*") == "" {
			return nil, fmt.Errorf("invalid secret name %q: give at least one character besides *", n)
		}
		glob := strings.ReplaceAll(regexp.QuoteMeta(n), `\*`, ".*")
		r.names = append(r.names, regexp.MustCompile("(?is)^"+glob+"$"))
	}
	for _, v := range slices.Sorted(slices.Values(c.Vars)) {
		name, value, ok := strings.Cut(v, "=")
		if ok && name != "" && (r.trust(name) > anyName || strings.Contains(value, "://")) {
			r.learn(name, value)
		}
	}
	if c.Env != nil {
		r.files = newDotenv(c.Env)
		r.files.update(ctx, nil, r.learn)
	}
	r.rules.Store(newRules(r.values))
	return r, nil
}

// maxTrusts limits the names that a Redactor remembers. Tools have fewer argument names.
const maxTrusts = 1000

// trust tells how strongly a variable name suggests a secret value.
func (r *Redactor) trust(name string) trust {
	if t, ok := r.trusts.Load(name); ok {
		return t.(trust)
	}
	t := r.judge(name)
	if len(name) < 64 && r.known.Add(1) <= maxTrusts {
		r.trusts.Store(name, t)
	}
	return t
}

func (r *Redactor) judge(name string) trust {
	switch {
	case slices.ContainsFunc(r.names, func(re *regexp.Regexp) bool { return re.MatchString(name) }):
		return strongName
	case !Name(name):
		return anyName
	case weak().MatchString(name) && !strings.Contains(strings.ToUpper(name), "API"):
		return weakName
	}
	return strongName
}

// learn adds a variable's value.
func (r *Redactor) learn(name, value string) {
	for _, v := range secretValues(value, r.trust(name)) {
		if _, known := r.values[v]; !known {
			r.values[v] = placeholder(name)
		}
	}
}

// Refresh reads dotenv files that are new or have changed: all known files, files in the working directory, and files
// among paths. A value that was removed from a file stays secret.
func (r *Redactor) Refresh(ctx context.Context, paths ...string) {
	if r == nil || r.files == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := len(r.values); r.files.update(ctx, paths, r.learn) && len(r.values) > known {
		r.rules.Store(newRules(r.values))
	}
}

// Text returns text without secrets.
func (r *Redactor) Text(text string) string {
	if r == nil || text == "" {
		return text
	}
	s := r.Stream()
	b := append(s.Write([]byte(text)), s.Close()...)
	if s.Found() == 0 {
		return text
	}
	return string(b)
}

// placeholder returns the replacement for a secret.
func placeholder(kind string) string {
	return "[redacted:" + strings.Map(func(c rune) rune {
		if c < 0x80 && (word[byte(c)] || c == '-' || c == '.') {
			return c
		}
		return '_'
	}, kind) + "]"
}

var placeholders = lazy.Regexp(`\[redacted:[A-Za-z0-9_.-]+\]`)

// Added returns the first placeholder that occurs more often in the new text than in the old text, or "".
func Added(old, text []byte) string {
	count := make(map[string]int)
	for _, p := range placeholders().FindAll(text, -1) {
		count[string(p)]++
	}
	if len(count) == 0 {
		return ""
	}
	for _, p := range placeholders().FindAll(old, -1) {
		count[string(p)]--
	}
	for _, p := range placeholders().FindAll(text, -1) {
		if count[string(p)] > 0 {
			return string(p)
		}
	}
	return ""
}
