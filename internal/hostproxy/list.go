package hostproxy

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// List are the hosts that a proxy connects to.
type List []entry

// entry is a host, the hosts below a domain, or an address.
type entry struct {
	name  string // without a leading "*."
	below bool
	addr  netip.Addr
	port  int // 0 means the HTTP and HTTPS ports
}

// Check returns an error unless a text can be an entry in a list of hosts.
func Check(host string) error {
	_, err := parse(host)
	return err
}

// Parse parses a list of hosts such as github.com, *.npmjs.org, example.com:8443, 10.0.0.1 and [fd00::1]:8080. Without a
// port, an entry is for the ports 80 and 443.
func Parse(hosts []string) (List, error) {
	list := make(List, 0, len(hosts))
	for _, h := range hosts {
		e, err := parse(h)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

func parse(text string) (e entry, err error) {
	invalid := fmt.Errorf("%q is not a host: use a name such as github.com, *.npmjs.org or example.com:8443, or an address", text)
	host := strings.ToLower(text)
	if name, port, err := net.SplitHostPort(host); err == nil {
		if e.port, err = strconv.Atoi(port); err != nil || e.port < 1 || e.port > 65535 {
			return e, invalid
		}
		host = name
	}
	if e.addr, err = netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		if e.addr.Zone() != "" {
			return e, invalid
		}
		e.addr = e.addr.Unmap()
		return e, nil
	}
	e.name, e.below = strings.CutPrefix(strings.TrimSuffix(host, "."), "*.")
	if !isName(e.name) || e.below && !strings.Contains(e.name, ".") {
		return e, invalid
	}
	return e, nil
}

// isName reports whether a text can be a host name. Numbers that some programs take for an address cannot.
func isName(s string) bool {
	if s == "" || len(s) > 253 || strings.HasPrefix(s, ".") || strings.Contains(s, "..") {
		return false
	}
	if strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
	}) {
		return false
	}
	last := s[strings.LastIndexByte(s, '.')+1:]
	return last != "" && !(last[0] >= '0' && last[0] <= '9')
}

// usual reports whether a port is one of HTTP and HTTPS.
func usual(port int) bool { return port == 80 || port == 443 }

func (e entry) hasPort(port int) bool { return e.port == port || e.port == 0 && usual(port) }

// name reports whether a name is listed with a port.
func (l List) name(host string, port int) bool {
	return slices.ContainsFunc(l, func(e entry) bool {
		if e.name == "" || !e.hasPort(port) {
			return false
		}
		return e.below && strings.HasSuffix(host, "."+e.name) || !e.below && host == e.name
	})
}

// addr reports whether an address is listed with a port.
func (l List) addr(a netip.Addr, port int) bool {
	return slices.ContainsFunc(l, func(e entry) bool { return e.addr.IsValid() && e.addr == a && e.hasPort(port) })
}

// show returns a host and its port as an entry that is for them.
func show(host string, port int) string {
	if usual(port) {
		return host
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}
