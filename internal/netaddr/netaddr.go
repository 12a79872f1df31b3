// Package netaddr distinguishes public internet addresses from others.
package netaddr

import "net/netip"

// special lists the special-purpose address blocks in the IANA registries that netip has no methods for, and the other
// addresses of cloud metadata services. Entries with never set are refused even if private addresses are allowed.
var special = []struct {
	block netip.Prefix
	name  string
	never bool
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "an unspecified", true},
	{netip.MustParsePrefix("100.100.100.200/32"), "a cloud metadata", true},
	{netip.MustParsePrefix("100.64.0.0/10"), "a carrier-grade NAT", false},
	{netip.MustParsePrefix("168.63.129.16/32"), "a cloud metadata", true},
	{netip.MustParsePrefix("192.0.0.192/32"), "a cloud metadata", true},
	{netip.MustParsePrefix("192.0.0.0/24"), "a reserved", false},
	{netip.MustParsePrefix("192.0.2.0/24"), "a documentation", false},
	{netip.MustParsePrefix("192.88.99.0/24"), "a 6to4 relay", false},
	{netip.MustParsePrefix("198.18.0.0/15"), "a benchmarking", false},
	{netip.MustParsePrefix("198.51.100.0/24"), "a documentation", false},
	{netip.MustParsePrefix("203.0.113.0/24"), "a documentation", false},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved", true},
	{netip.MustParsePrefix("fd00:ec2::254/128"), "a cloud metadata", true},
	{netip.MustParsePrefix("fd20:ce::254/128"), "a cloud metadata", true},
	{netip.MustParsePrefix("2001::/23"), "a reserved", false}, // includes Teredo
	{netip.MustParsePrefix("2001:db8::/32"), "a documentation", false},
	{netip.MustParsePrefix("2002::/16"), "a 6to4", false},
	{netip.MustParsePrefix("3fff::/20"), "a documentation", false},
}

var (
	global = netip.MustParsePrefix("2000::/3")     // contains all global IPv6 addresses
	nat64  = netip.MustParsePrefix("64:ff9b::/96") // ends in an IPv4 address
)

// Kind returns an address's kind, with an article, or "" for a public address. never reports whether it is refused in
// every configuration.
func Kind(a netip.Addr) (name string, never bool) {
	a = a.WithZone("").Unmap()
	if nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	for _, s := range special {
		if s.block.Contains(a) {
			return s.name, s.never
		}
	}
	switch {
	case !a.IsValid(), a.IsUnspecified():
		return "an unspecified", true
	case a.IsLoopback():
		return "a loopback", false
	case a.IsPrivate():
		return "a private", false
	case a.IsLinkLocalUnicast():
		return "a link-local", true
	case a.IsMulticast():
		return "a multicast", true
	case a.Is6() && !global.Contains(a):
		return "a reserved", true
	}
	return "", false
}
