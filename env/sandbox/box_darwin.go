package sandbox

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// seatbelt is the program that confines other programs.
const seatbelt = "/usr/bin/sandbox-exec"

// Box starts confined processes. It must be closed. Its methods may be called concurrently.
type Box struct {
	layout  layout
	profile string
}

// New returns a box. It starts no process.
func New(c Config) (*Box, error) {
	roots, err := c.roots()
	if err != nil {
		return nil, fmt.Errorf("set up the sandbox: %w", err)
	}
	if c.proxied() {
		return nil, errors.New("set up the sandbox: a list of hosts works only on Linux; allow the whole network, or none")
	}
	l := c.layout(roots)
	return &Box{layout: l, profile: profile(l, c)}, nil
}

// Support returns what the box enforces.
func (b *Box) Support() Support { return Probe() }

// Writable returns the directories that commands can write.
func (b *Box) Writable() []string { return slices.Clone(b.layout.writable) }

// Allows reports whether a real path may be written.
func (b *Box) Allows(path string) bool { return b.layout.allows(path) }

// Start starts a confined process.
func (b *Box) Start(path string, args []string, attr *os.ProcAttr) (*os.Process, error) {
	list := []string{seatbelt, "-p", b.profile, path}
	if len(args) > 1 {
		list = append(list, args[1:]...)
	}
	return os.StartProcess(seatbelt, list, attr)
}

// Terminal returns [ErrUnsupported]: commands can use system terminals.
func (b *Box) Terminal() (host, tty *os.File, err error) { return nil, nil, ErrUnsupported }

// Contains returns false: there are no namespaces.
func (b *Box) Contains(int) bool { return false }

// Traces returns nothing: the profile also holds for paths that do not exist.
func (b *Box) Traces() (reserved, forbidden []string) { return nil, nil }

// Expect does nothing: the profile does not apply to the owner.
func (b *Box) Expect(string) {}

// Sweep does nothing.
func (b *Box) Sweep() []string { return nil }

// Refused returns nothing: there is no proxy.
func (b *Box) Refused() []string { return nil }

// Close does nothing.
func (b *Box) Close() error { return nil }

// Probe returns what this system can enforce.
func Probe() Support {
	if _, err := os.Stat(seatbelt); err != nil {
		return Support{Problems: []string{seatbelt + " is missing"}}
	}
	return Support{Seatbelt: true}
}

// profile returns the rules for sandbox-exec. Later rules win.
func profile(l layout, c Config) string {
	var b strings.Builder
	b.WriteString("(version 1)\n(allow default)\n(deny file-write*)\n")
	b.WriteString(
		"(allow file-write* (literal \"/dev/null\") (literal \"/dev/zero\") (literal \"/dev/tty\") (literal \"/dev/ptmx\") " +
			"(regex #\"^/dev/ttys[0-9]+$\"))\n",
	)
	verbs := make(map[string]string)
	for _, dir := range slices.Concat(l.writable, l.reopened) {
		verbs[dir] = "allow"
	}
	for _, path := range slices.Concat(l.protected, l.forbidden) {
		verbs[path] = "deny"
	}
	for _, path := range slices.Sorted(maps.Keys(verbs)) { // parents first
		fmt.Fprintf(&b, "(%s file-write* (subpath %s))\n", verbs[path], quote(path))
	}
	for _, path := range l.pinned {
		fmt.Fprintf(&b, "(deny file-write-unlink (literal %s))\n", quote(path))
	}
	l.profileReads(&b)
	switch {
	case c.NoSockets:
		b.WriteString("(deny network*)\n")
	case !c.Network:
		b.WriteString("(deny network*)\n(allow network* (local ip \"localhost:*\") (remote ip \"localhost:*\"))\n")
	}
	b.WriteString("(deny network-outbound (remote unix-socket))\n")
	b.WriteString("(deny process-info* (target others))\n(allow process-info* (target same-sandbox))\n")
	b.WriteString(
		"(deny signal (target others))\n(allow signal (target same-sandbox))\n(deny mach-task-name)\n(deny mach-priv-task-port)\n",
	)
	return b.String()
}

// profileReads adds the rules for reading.
func (l layout) profileReads(b *strings.Builder) {
	if l.confined {
		b.WriteString("(deny file-read*)\n(allow file-read-metadata)\n(allow file-read* (literal \"/\"))\n")
		for _, path := range slices.Concat(l.writable, l.readable) {
			fmt.Fprintf(b, "(allow file-read* (subpath %s))\n", quote(path))
		}
		for _, dir := range l.listed {
			fmt.Fprintf(b, "(allow file-read* (literal %s))\n", quote(dir))
		}
	}
	for _, path := range l.masked {
		fmt.Fprintf(b, "(deny file-read* (subpath %s))\n", quote(path))
	}
}

// quote returns a path as a string in the profile language.
func quote(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
}

// landlockVersion returns 0: only Linux has it.
func landlockVersion() int { return 0 }
