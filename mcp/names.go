package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	maxName   = 64 // what all providers accept
	maxServer = 32 // of a name, so that enough is left for the tool
	hashLen   = 8
)

// ToolName returns the name under which the model sees a tool of a server: mcp__server__tool, of at most 64 letters,
// digits, "_" and "-".
//
// A server or tool whose own name does not fit, or could be mistaken for another one, gets a shortened name that ends
// in "-" and a hash. So different tools have different names, a name depends on nothing else, and a rule for one
// server never matches the tools of another: the part for the server contains no "__", and neither part has a "_" where
// they meet.
func ToolName(server, tool string) string {
	prefix := "mcp__" + serverKey(server) + "__"
	return prefix + fit(tool, strings.TrimLeft(plain(tool), "_"), maxName-len(prefix))
}

// serverKey returns the part of tool names that stands for a server.
func serverKey(name string) string {
	key := plain(name)
	for strings.Contains(key, "__") {
		key = strings.ReplaceAll(key, "__", "_")
	}
	return fit(name, strings.Trim(key, "_"), maxServer)
}

// plain replaces all characters that names cannot have.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
}

// fit returns the name made from an original, with a hash unless it is the original and cannot be taken for one with a
// hash.
func fit(original, name string, limit int) string {
	if name == original && name != "" && len(name) <= limit && !hashed(name) {
		return name
	}
	sum := sha256.Sum256([]byte(original))
	name = strings.TrimRight(name[:min(len(name), limit-1-hashLen)], "_")
	return name + "-" + hex.EncodeToString(sum[:])[:hashLen]
}

// hashed reports whether a name ends like one with a hash.
func hashed(name string) bool {
	at := len(name) - 1 - hashLen
	return at >= 0 && name[at] == '-' && strings.Trim(name[at+1:], "0123456789abcdef") == ""
}
