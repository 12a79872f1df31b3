package project

import (
	"testing"
)

func TestSandbox_AMissingOneNamesWhatAsksForIt(t *testing.T) {
	getenv := func(name string) string { return map[string]string{"REINS_SANDBOX": "read-only"}[name] }
	p, err := Load(t.Context(), Options{Dir: t.TempDir(), Machine: Machine{Getenv: getenv, SystemDir: "nowhere"}})
	if err != nil {
		t.Fatal(err)
	}
	const want = "REINS_SANDBOX: the sandbox read-only is not available: no kernel support; use off to run without a sandbox"
	if err := p.noSandbox("no kernel support"); err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}
