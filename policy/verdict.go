package policy

import "fmt"

// Verdict is the outcome of a decision. The zero value denies.
type Verdict int

// The verdicts, strictest first.
const (
	Deny Verdict = iota
	Ask
	Allow
)

func (v Verdict) String() string {
	switch v {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	}
	return "deny"
}

// MarshalText writes the verdict as a word.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads a verdict. An unknown word denies, and is an error.
func (v *Verdict) UnmarshalText(text []byte) error {
	for _, known := range []Verdict{Allow, Ask, Deny} {
		if known.String() == string(text) {
			*v = known
			return nil
		}
	}
	*v = Deny
	return fmt.Errorf("unknown verdict %q: use allow, ask or deny", text)
}
