//go:build unix

package usercmd

import (
	"strings"
	"testing"
	"time"
)

func TestLine_IsTheFirstLineAndFailuresAreErrors(t *testing.T) {
	got, err := Line(t.Context(), t.TempDir(), `read -r x; echo "got $x"; echo more`, []byte("facts\n"), time.Minute)
	if err != nil || got != "got facts" {
		t.Errorf("got %q, %v", got, err)
	}
	for line, c := range map[string]struct {
		most time.Duration
		want string
	}{
		"echo why >&2; exit 3": {time.Minute, "exit status 3: why"},
		"kill -9 $$":           {time.Minute, "SIGKILL"},
		"sleep 1000":           {100 * time.Millisecond, "it took longer than"},
	} {
		if got, err := Line(t.Context(), t.TempDir(), line, nil, c.most); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %q, %v, want the error %s", line, got, err, c.want)
		}
	}
	if LineTime != 2*time.Second {
		t.Errorf("a line may take %v", LineTime)
	}
}
