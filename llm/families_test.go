package llm

import (
	"testing"
	"time"
)

func TestFamilies_AllResolve(t *testing.T) {
	c := DefaultCatalogue()
	var families []Family
	for _, g := range c.groups {
		families = append(families, g.open().families...)
	}
	if len(families) < 10 {
		t.Fatalf("got only %d families", len(families))
	}
	for i, f := range families {
		m, ok := c.Exact(f.Provider, f.Like)
		if !ok || m.ID != f.Like || m.Retired || m.Ends != "" {
			t.Errorf("the family %s follows %s, which is unknown, retired or ends", f.Prefix, f.Like)
		}
		for _, before := range families[:i] {
			if before.Provider == f.Provider && len(before.Prefix) < len(f.Prefix) && f.Prefix[:len(before.Prefix)] == before.Prefix {
				t.Errorf("%s never counts, because %s is before it", f.Prefix, before.Prefix)
			}
		}
	}
}

func TestModels_DatesAreWellFormed(t *testing.T) {
	day := func(id, s string) {
		if _, err := time.Parse(time.DateOnly, s); s != "" && err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	for _, m := range DefaultCatalogue().Models() {
		day(m.ID, m.Ends)
		for p := m.Price; p != nil; p = p.Next {
			day(m.ID, p.NextFrom)
			if (p.Next == nil) != (p.NextFrom == "") {
				t.Errorf("%s has a next price without a day, or the reverse", m.ID)
			}
			if p.Next != nil && p.Next.NextFrom != "" && p.Next.NextFrom <= p.NextFrom {
				t.Errorf("the prices of %s are not in order", m.ID)
			}
		}
	}
}
