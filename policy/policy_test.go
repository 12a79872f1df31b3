package policy

import "testing"

func TestWorkspace_ReadingInsideIsAllowedAndEverythingElseAsks(t *testing.T) {
	w := Workspace{Dir: "/repo"}
	for _, c := range []struct {
		name     string
		accesses []Access
		want     Verdict
	}{
		{"undeclared", nil, Ask},
		{"read inside", []Access{{Kind: Read, Target: "/repo/a/b.go"}}, Allow},
		{"read the directory itself", []Access{{Kind: Read, Target: "/repo"}}, Allow},
		{"read outside", []Access{{Kind: Read, Target: "/etc/passwd"}}, Ask},
		{"sibling with the same prefix", []Access{{Kind: Read, Target: "/repo-evil/x"}}, Ask},
		{"unclean path", []Access{{Kind: Read, Target: "/repo/../etc/passwd"}}, Ask},
		{"relative path", []Access{{Kind: Read, Target: "a.go"}}, Ask},
		{"write inside", []Access{{Kind: Write, Target: "/repo/a.go"}}, Ask},
		{"delete inside", []Access{{Kind: Delete, Target: "/repo/a.go"}}, Ask},
		{"exec", []Access{{Kind: Exec, Target: "ls", Dir: "/repo"}}, Ask},
		{"connect", []Access{{Kind: Connect, Target: "example.com:443"}}, Ask},
		{"one bad among good", []Access{{Kind: Read, Target: "/repo/a"}, {Kind: Write, Target: "/repo/b"}}, Ask},
		{"name that begins with dots", []Access{{Kind: Read, Target: "/repo/..a"}}, Allow},
	} {
		if d := w.Decide(c.accesses); d.Verdict != c.want || d.Reason == "" {
			t.Errorf("%s: %v (%q), want %v and a reason", c.name, d.Verdict, d.Reason, c.want)
		}
	}
}

func TestDecision_ZeroValueDenies(t *testing.T) {
	if (Decision{}).Verdict != Deny {
		t.Error("the zero decision does not deny")
	}
	if d := Strictest().Decide(nil); d.Verdict != Deny {
		t.Errorf("no policy at all gives %v", d.Verdict)
	}
}

type fixed Verdict

func (f fixed) Decide([]Access) Decision { return Decision{Verdict(f), "fixed"} }

func TestStrictest_TakesTheStrictestVerdict(t *testing.T) {
	for _, c := range []struct {
		in   []Policy
		want Verdict
	}{
		{[]Policy{fixed(Allow), fixed(Ask)}, Ask},
		{[]Policy{fixed(Deny), fixed(Allow)}, Deny},
		{[]Policy{fixed(Allow), fixed(Allow)}, Allow},
	} {
		if d := Strictest(c.in...).Decide(nil); d.Verdict != c.want {
			t.Errorf("%v: %v, want %v", c.in, d.Verdict, c.want)
		}
	}
}
