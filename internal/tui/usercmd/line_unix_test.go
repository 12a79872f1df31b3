//go:build unix

package usercmd

import (
	"strings"
	"testing"
)

func TestLine_IsTheFirstLineAndFailuresAreErrors(t *testing.T) {
	got, err := Line(t.Context(), t.TempDir(), `read -r x; echo "got $x"; echo more`, []byte("facts\n"))
	if err != nil || got != "got facts" {
		t.Errorf("got %q, %v", got, err)
	}
	for line, want := range map[string]string{
		"echo why >&2; exit 3": "exit status 3: why",
		"kill -9 $$":           "SIGKILL",
		"sleep 1000":           "it took longer than",
	} {
		if got, err := Line(t.Context(), t.TempDir(), line, nil); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %q, %v, want the error %s", line, got, err, want)
		}
	}
}
