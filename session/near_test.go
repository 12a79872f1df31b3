package session

import (
	"strings"
	"testing"
)

func TestNearIDs_AreThoseThatWereMeant(t *testing.T) {
	all := []string{"K3ZQWERTY", "abcdef-one", "abcdef-two", "fix-the-build", "zzz"}
	for name, want := range map[string]string{
		"K3ZX": "K3ZQWERTY", "abcdfe": "abcdef-one abcdef-two", "the-build": "fix-the-build", "q": "", "nothing-like-it": "",
	} {
		if got := strings.Join(nearIDs(name, all), " "); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
