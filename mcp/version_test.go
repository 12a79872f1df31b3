package mcp

import "testing"

func TestBuildVersion_IsNeverEmpty(t *testing.T) {
	if v := buildVersion(); v != "devel" { // tests are not built from a version
		t.Errorf("got %q, want devel", v)
	}
}
