package policy

import "slices"

// Grant is an approval that holds for more than one call of a tool.
type Grant struct {
	Tool     string
	Accesses []Access // nil covers calls that do not declare theirs
	Rule     string
}

// Grants are the approvals given so far.
type Grants []Grant

// Find returns the grant that covers a call: one for the same tool with all of the call's accesses. A call
// that does not declare its accesses is covered by a grant for such calls only.
func (g Grants) Find(q Query) (Grant, bool) {
	for _, grant := range g {
		if grant.Tool == q.Tool && (grant.Accesses == nil) == (q.Accesses == nil) && covers(grant.Accesses, q.Accesses) {
			return grant, true
		}
	}
	return Grant{}, false
}

func covers(granted, asked []Access) bool {
	return !slices.ContainsFunc(asked, func(a Access) bool { return !slices.Contains(granted, a) })
}
