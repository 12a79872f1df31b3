package hook

import "testing"

// FuzzParse checks that any output is a valid answer or an error.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "text", "{}", `{"decision":"block","reason":"x"}`, `{"continue":false}`, `{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{}}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, e := range Events() {
			out, err := parse(e, s)
			if err == nil && out.check(e) != nil {
				t.Errorf("%s: %q gives %+v", e, s, out)
			}
		}
	})
}

func FuzzReadClaude(f *testing.F) {
	f.Add([]byte(`{"hooks":{"Stop":[{"matcher":"*","hooks":[{"type":"command","command":"a","timeout":1e300}]}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, _ := ReadClaude(data)
		for _, h := range list {
			if _, err := New(h.Hook); err != nil && h.Inactive == "" {
				t.Errorf("%+v is active: %v", h, err)
			}
		}
	})
}
