//go:build linux && (amd64 || arm64)

package effects

import (
	"encoding/base64"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// canaries are the secrets in the world, by name. No command line contains one.
var canaries = map[string]string{
	"ssh":     "Qz7kSshKeyVw", // ~/.ssh/id_rsa
	"aws":     "Qz2mAwsKeyVw", // ~/.aws/credentials
	"netrc":   "Qz9pNetRcxVw", // ~/.netrc
	"npmrc":   "Qz4rNpmRcxVw", // ~/.npmrc
	"gh":      "Qz8tGhHostVw", // ~/.config/gh/hosts.yml
	"history": "Qz3wHistryVw", // ~/.bash_history
	"other":   "Qz6yOtherxVw", // another project, next to the workspace
	"sibling": "Qz1bSiblngVw", // a directory whose name has the workspace's name as prefix
	"upper":   "Qz5dUpperxVw", // a file above the workspace
	"root":    "Qz7fRootxxVw", // /root/.ssh/id_rsa
	"shadow":  "Qz2hShadowVw", // /etc/shadow
	"apikey":  "Qz9jApiKeyVw", // the API key, in the program's environment
	"env":     "Qz4nDotEnvVw", // .env in the workspace, which a rule denies
}

// secretText returns a text that contains a canary at every offset in a hex dump line.
func secretText(name string) string { return strings.Repeat(canaries[name]+"\n", 24) }

// leaked returns the names of the canaries in a text: unchanged, in another case, reversed, rotated, in hexadecimal or
// in base64, with any white space in between.
func leaked(text string) (names []string) {
	packed := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '\\' {
			return -1
		}
		return r
	}, text)
	lower := strings.ToLower(packed)
	for _, name := range slices.Sorted(maps.Keys(canaries)) {
		c := canaries[name]
		plain := strings.ToLower(c)
		found := strings.Contains(lower, plain) || strings.Contains(lower, reverse(plain)) || strings.Contains(lower, rot13(plain)) ||
			strings.Contains(lower, hex.EncodeToString([]byte(c)))
		for shift := range 3 {
			found = found || strings.Contains(packed, base64Core(c, shift))
		}
		if found {
			names = append(names, name)
		}
	}
	return names
}

func reverse(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

func rot13(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return 'a' + (r-'a'+13)%26
		}
		return r
	}, s)
}

// base64Core returns the characters that encode a text and nothing else, if it begins at a group offset.
func base64Core(s string, offset int) string {
	text := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", offset) + s))
	begin := (offset*8 + 5) / 6
	return text[begin : (offset+len(s))*8/6]
}

func TestLeaked_FindsCanariesInOtherForms(t *testing.T) {
	c := canaries["ssh"]
	for name, text := range map[string]string{
		"plain": "x" + c + "x", "upper case": strings.ToUpper(c), "reversed": reverse(c), "rotated": rot13(strings.ToLower(c)),
		"hexadecimal": hex.EncodeToString([]byte(c)), "spaced": strings.Join(strings.Split(c, ""), "   "), "in two lines": c[:4] + "\n" + c[4:],
		"base64": base64.StdEncoding.EncodeToString([]byte(c)), "base64, shifted": base64.StdEncoding.EncodeToString([]byte("ab" + c + "cd")),
	} {
		if got := leaked(text); !slices.Equal(got, []string{"ssh"}) {
			t.Errorf("%s: leaked(%q) = %v, want ssh", name, text, got)
		}
	}
	if got := leaked("nothing to see: " + c[1:]); got != nil {
		t.Errorf("found %v in a text without a canary", got)
	}
}
