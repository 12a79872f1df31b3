package shell

import (
	"path"
	"regexp"
	"slices"
	"testing"
)

func TestVariables_FileIsComplete(t *testing.T) {
	code, harmless := variables()
	if len(code) < 190 || len(harmless) < 40 {
		t.Errorf("got %d variables and %d exceptions, want at least 190 and 40", len(code), len(harmless))
	}
	name := regexp.MustCompile(`^[A-Za-z0-9_*]+(\[[A-Z0-9]-[A-Z0-9]\][A-Za-z0-9_*]*)?$`)
	for _, pattern := range slices.Concat(code, harmless) {
		if _, err := path.Match(pattern, "x"); err != nil || !name.MatchString(pattern) {
			t.Errorf("%q is not the pattern of a name: %v", pattern, err)
		}
	}
	for _, tt := range []struct {
		name string
		want bool
	}{
		{"PATH", true}, {"LD_PRELOAD", true}, {"GIT_SSH_COMMAND", true}, {"PS4", true}, {"BASH_ENV", true}, {"USE_X", true},
		{"GOFLAGS", true}, {"NODE_OPTIONS", true}, {"http_proxy", true},
		{"GOOS", false}, {"GIT_TERMINAL_PROMPT", false}, {"LC_ALL", false}, {"CGO_ENABLED", false}, {"MY_NAME", false}, {"PS5", false},
	} {
		if got := isCode(tt.name); got != tt.want {
			t.Errorf("%s changes what programs do: %v, want %v", tt.name, got, tt.want)
		}
	}
}
