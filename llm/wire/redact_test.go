package wire_test

import (
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm/wire"
)

func TestRedact_RemovesWhatLooksLikeACredential(t *testing.T) {
	long := strings.Repeat("a1B2", 10)
	for _, secret := range []string{
		"sk-proj-" + long, "sk-ant-api03-" + long + "_-x", "sk-or-v1-" + long, "AIza" + long, "gsk_" + long, "xai-" + long,
		"Bearer " + long, "bearer abc.def-ghi_jkl", "ya29." + long, "hf_" + long,
	} {
		for _, frame := range []string{"%", "key: % is bad", `{"k":"%"}`, "x=%&y"} {
			if got := wire.Redact(strings.ReplaceAll(frame, "%", secret)); strings.Contains(got, secret[8:]) {
				t.Errorf("%q is left in %q", secret, got)
			}
		}
	}
}

func TestRedact_LeavesOrdinaryTextAlone(t *testing.T) {
	for _, text := range []string{"", "the task-list is long", "sk-short", "risk-assessment", "Bearer", "model claude-opus-5-5 not found",
		"desk-0123456789abcdefghijk is furniture"} {
		if got := wire.Redact(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
