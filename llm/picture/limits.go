package picture

import (
	"encoding/base64"
	"slices"
)

// The formats that providers take, by their MIME types.
const (
	PNG  = "image/png"
	JPEG = "image/jpeg"
	GIF  = "image/gif"
	WebP = "image/webp"
	HEIC = "image/heic"
	HEIF = "image/heif"
)

// Limits says which images a provider takes. Zero is no limit.
type Limits struct {
	Side    int      // the most pixels of the longer side
	Bytes   int      // the largest file
	Base64  int      // the longest base64 form of the file
	Formats []string // MIME types; PNG and JPEG must be among them, and are all if it is empty
}

// providers are the limits that the vendors publish, as of 2026.
var providers = map[string]Limits{
	// An image may have 8000 pixels on a side, but only 2000 once there are more than 20 images in
	// a request, which is what a long session comes to. The 5 MB are counted in base64.
	"anthropic": {Side: 2000, Base64: 5 << 20, Formats: []string{PNG, JPEG, GIF, WebP}},
	"openai":    {Bytes: 20 << 20, Formats: []string{PNG, JPEG, GIF, WebP}},
	// The file limit is that of inline data at Vertex AI, the smaller one of Google's two.
	"gemini": {Bytes: 7_000_000, Formats: []string{PNG, JPEG, WebP, HEIC, HEIF}},
	// Of the servers that speak the Chat Completions protocol some read nothing but PNG and JPEG,
	// and Groq takes no more than 4 MB in base64.
	"chat": {Base64: 4_000_000, Formats: []string{PNG, JPEG}},
}

// For is the limits of a provider: "anthropic", "openai", "gemini" or "chat". For any other it is
// [Strictest].
func For(provider string) Limits {
	if l, ok := providers[provider]; ok {
		l.Formats = slices.Clone(l.Formats)
		return l
	}
	return Strictest()
}

// Strictest is the limits that all providers have in common: what keeps to them can be sent to any.
func Strictest() Limits {
	var all Limits
	for _, l := range providers {
		all = all.and(l)
	}
	slices.Sort(all.Formats)
	return all
}

// and is the limits that keep to both.
func (l Limits) and(m Limits) Limits {
	tighter := func(a, b int) int {
		if a == 0 || b > 0 && b < a {
			return b
		}
		return a
	}
	both := Limits{tighter(l.Side, m.Side), tighter(l.Bytes, m.Bytes), tighter(l.Base64, m.Base64), nil}
	for _, f := range m.Formats {
		if len(l.Formats) == 0 || slices.Contains(l.Formats, f) {
			both.Formats = append(both.Formats, f)
		}
	}
	return both
}

// takes reports whether a format is sent as it is.
func (l Limits) takes(mime string) bool {
	if len(l.Formats) == 0 {
		return mime == PNG || mime == JPEG
	}
	return slices.Contains(l.Formats, mime)
}

// holds reports whether a file of n bytes is within the limits.
func (l Limits) holds(n int) bool {
	return (l.Bytes == 0 || n <= l.Bytes) && (l.Base64 == 0 || base64.StdEncoding.EncodedLen(n) <= l.Base64)
}

// spans reports whether an image of this size is within the limits.
func (l Limits) spans(width, height int) bool {
	return l.Side == 0 || max(width, height) <= l.Side
}
