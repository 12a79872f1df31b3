package main

import "testing"

func TestMutants_AllApply(t *testing.T) {
	all, err := parse(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if _, _, err := m.apply("../.."); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		if m.old == m.new {
			t.Errorf("%s: it changes nothing", m.name)
		}
	}
}

func TestParse_ReportsLinesItDoesNotKnow(t *testing.T) {
	const good = "mutant a\nin p\ntests ./p\n-x\n-y\n+z\n"
	all, err := parse(good)
	if err != nil || len(all) != 1 || all[0].old != "x\ny" || all[0].new != "z" || all[0].tests[0] != (tests{"./p", ""}) {
		t.Errorf("got %+v, %v", all, err)
	}
	for _, bad := range []string{"in p\n", good + "size 3\n", "mutant a\nin p\n-x\n", good + good} {
		if _, err := parse(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestMutant_IsInItsPackage(t *testing.T) {
	m := mutant{pkg: "agent/step"}
	for pkg, want := range map[string]bool{
		"": true, "./agent/step": true, "agent/step": true, "./agent/step/": true, "./agent/...": true,
		"./...": true, "./agent": false, "./agent/st/...": false,
	} {
		if got := m.in(pkg); got != want {
			t.Errorf("in %q: %v, want %v", pkg, got, want)
		}
	}
}

func TestFirstFailure_NamesTheTest(t *testing.T) {
	for output, want := range map[string]string{
		"--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\n        x.go:1: no\nFAIL\n": "TestA/b",
		"panic: test timed out after 1s\n\trunning tests:\n\t\tTestA (1s)\n\ngoroutine 1":    "TestA, by a timeout of 1s",
		"panic: oops [recovered]\n\ngoroutine 1":                                             "a panic: oops [recovered]",
		"found unexpected goroutines\nexit\n":                                                "exit",
	} {
		if got := firstFailure(output); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
