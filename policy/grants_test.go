package policy

import "testing"

func TestGrants_CoverTheSameToolWithTheSameAccessesOnly(t *testing.T) {
	a, b := Access{Kind: Write, Target: "/a"}, Access{Kind: Write, Target: "/b"}
	grants := Grants{{Tool: "write", Accesses: []Access{a}}, {Tool: "odd", Accesses: nil}}
	for name, c := range map[string]struct {
		query Query
		want  bool
	}{
		"the same":                            {Query{Tool: "write", Accesses: []Access{a}}, true},
		"no access at all":                    {Query{Tool: "write", Accesses: []Access{}}, true},
		"another tool":                        {Query{Tool: "edit", Accesses: []Access{a}}, false},
		"another path":                        {Query{Tool: "write", Accesses: []Access{b}}, false},
		"one access more":                     {Query{Tool: "write", Accesses: []Access{a, b}}, false},
		"another kind":                        {Query{Tool: "write", Accesses: []Access{{Kind: Delete, Target: "/a"}}}, false},
		"undeclared":                          {Query{Tool: "write"}, false},
		"undeclared, and granted":             {Query{Tool: "odd"}, true},
		"declared, and granted as undeclared": {Query{Tool: "odd", Accesses: []Access{a}}, false},
		"the same, in plan mode":              {Query{Tool: "write", Accesses: []Access{a}, Mode: ModePlan}, false},
	} {
		if _, got := grants.Find(t.Context(), AskAll{}, c.query); got != c.want {
			t.Errorf("%s: covered %v, want %v", name, got, c.want)
		}
	}
}
