package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	maxName   = 64 // accepted by all providers
	maxServer = 32 // for the server part, so that enough is left for the tool
	hashLen   = 8
)

// ToolName returns the name under which the model sees a server's tool: mcp__server__tool, with at most 64 letters,
// digits, "_" and "-".
//
// A server or tool whose own name does not fit, or could be mistaken for another name, gets a shortened name that ends
// in "-" and a hash. Thus different tools have different names, a name does not depend on other tools, and a rule for
// one server never matches another server's tools: the server part does not contain "__", and neither part has a "_"
// where they meet.
func ToolName(server, tool string) string {
	prefix := "mcp__" + serverKey(server) + "__"
	return prefix + fit(tool, strings.TrimLeft(plain(tool), "_"), maxName-len(prefix))
}

// serverKey returns the server part in tool names.
func serverKey(name string) string {
	key := plain(name)
	for strings.Contains(key, "__") {
		key = strings.ReplaceAll(key, "__", "_")
	}
	return fit(name, strings.Trim(key, "_"), maxServer)
}

// plain replaces all characters that are not allowed in names.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
}

// fit shortens a name derived from original and appends a hash, unless the name equals original, is short enough and
// does not look hashed.
func fit(original, name string, limit int) string {
	if name == original && name != "" && len(name) <= limit && !hashed(name) {
		return name
	}
	sum := sha256.Sum256([]byte(original))
	name = strings.TrimRight(name[:min(len(name), limit-1-hashLen)], "_")
	return name + "-" + hex.EncodeToString(sum[:])[:hashLen]
}

// hashed reports whether a name seems to end in a hash.
func hashed(name string) bool {
	at := len(name) - 1 - hashLen
	return at >= 0 && name[at] == '-' && strings.Trim(name[at+1:], "0123456789abcdef") == ""
}
