package wire

import (
	"encoding/base64"
	"hash/fnv"
	"strings"
)

// Digest is 11 letters and digits that stand for any text. Adapters make ids of it for tool calls
// whose own ids, which may come from any server, are not in the form that theirs takes.
func Digest(s string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	letters := base64.RawURLEncoding.EncodeToString(h.Sum(nil))
	return strings.NewReplacer("-", "x", "_", "y").Replace(letters)
}
