package wire

import (
	"encoding/base64"
	"strings"

	"github.com/reins-agent/reins/llm"
)

// GoogleMedia reads inlineData or fileData of Google's APIs, if it has no unknown members.
func GoogleMedia(v Value) (llm.Part, bool) {
	f := CamelMembers(v)
	mime := f["mimeType"].Str()
	m := llm.Media{MIME: mime, URL: f["fileUri"].Str()}
	if data := f["data"]; data.Kind() == '"' {
		b, err := DecodeBase64(data.Str())
		if err != nil || mime == "" {
			return nil, false
		}
		m.Data = b
	}
	if (m.URL == "") == (len(m.Data) == 0) || len(f) > 2 || len(f) == 2 && f["mimeType"] == nil {
		return nil, false
	}
	switch {
	case strings.HasPrefix(mime, "image/"):
		return llm.Image{Media: m}, true
	case strings.HasPrefix(mime, "audio/"):
		return llm.Audio{Media: m}, true
	}
	return llm.Document{Media: m}, true
}

// DecodeBase64 accepts both alphabets, with or without padding, as Google's APIs do.
func DecodeBase64(s string) ([]byte, error) {
	s = strings.TrimRight(s, "=")
	if strings.ContainsAny(s, "-_") {
		return base64.RawURLEncoding.DecodeString(s)
	}
	return base64.RawStdEncoding.DecodeString(s)
}

// Camel returns a name in camelCase. Google's APIs accept names in snake_case, too.
func Camel(key []byte) string {
	if !strings.Contains(string(key), "_") {
		return string(key)
	}
	out := make([]byte, 0, len(key))
	for i := 0; i < len(key); i++ {
		if key[i] == '_' && i+1 < len(key) && key[i+1] >= 'a' && key[i+1] <= 'z' {
			i++
			out = append(out, key[i]-'a'+'A')
			continue
		}
		out = append(out, key[i])
	}
	return string(out)
}

// CamelMembers returns an object's members by their names in camelCase.
func CamelMembers(v Value) map[string]Value {
	f := make(map[string]Value)
	for m := v.Members(); m.Next(); {
		f[Camel(m.Key)] = m.Value
	}
	return f
}
