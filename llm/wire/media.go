package wire

import (
	"encoding/base64"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/reins-agent/reins/llm"
)

// maxInline bounds the files that are read to be sent inline.
const maxInline = 100 << 20

// Inline returns m with Data and MIME filled in where it names a local file, and with MIME found
// out where it was not given. That of an image is taken from its bytes whatever it was given as,
// because providers refuse an image that is not what its type says. A Media with a URL stays a
// reference, unless the URL is a data URI.
func Inline(m llm.Media) (llm.Media, error) {
	if m.Path != "" && m.Data == nil {
		data, err := readInline(m.Path)
		if err != nil {
			return m, err
		}
		m.Data = data
		if m.Name == "" {
			m.Name = filepath.Base(m.Path)
		}
	}
	if strings.HasPrefix(m.URL, "data:") && m.Data == nil {
		kind, data, err := ParseDataURI(m.URL)
		if err != nil {
			return m, err
		}
		m.URL, m.Data = "", data
		if m.MIME == "" {
			m.MIME = kind
		}
	}
	if m.Data == nil && m.URL == "" {
		return m, fmt.Errorf("a media part has neither data, URL nor path")
	}
	if m.MIME == "" {
		m.MIME = sniff(m)
	} else {
		m.MIME = trueImage(m.MIME, m.Data)
	}
	return m, nil
}

func readInline(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxInline {
		return nil, fmt.Errorf("%s cannot be sent inline: it is not a regular file of at most %d MiB", path, maxInline>>20)
	}
	return os.ReadFile(path)
}

// trueImage is the type of an image by its bytes. Other types stay as they were given, and so do
// images of a kind that is not known here.
func trueImage(kind string, data []byte) string {
	if !strings.HasPrefix(kind, "image/") && kind != "application/octet-stream" {
		return kind
	}
	if found := http.DetectContentType(data); strings.HasPrefix(found, "image/") {
		return found
	}
	return kind
}

// TrueDataURI corrects the type in the data URI of an image, as [Inline] does for its data. Any
// other URL is returned as it is.
func TrueDataURI(uri string) string {
	kind, payload, ok := strings.Cut(strings.TrimPrefix(uri, "data:"), ";base64,")
	if !ok || !strings.HasPrefix(uri, "data:image/") {
		return uri
	}
	start := payload[:min(len(payload)/4*4, 256)]
	data, err := base64.StdEncoding.DecodeString(start)
	if err != nil {
		return uri
	}
	if found := trueImage(kind, data); found != kind {
		return "data:" + found + ";base64," + payload
	}
	return uri
}

func sniff(m llm.Media) string {
	if m.Data != nil {
		if kind, _, _ := strings.Cut(http.DetectContentType(m.Data), ";"); kind != "application/octet-stream" && kind != "text/plain" {
			return kind
		}
	}
	name := m.Name
	if u, err := url.Parse(m.URL); m.URL != "" && err == nil {
		name = u.Path
	}
	kind, _, _ := strings.Cut(mime.TypeByExtension(filepath.Ext(name)), ";")
	if kind == "" && m.Data != nil {
		kind, _, _ = strings.Cut(http.DetectContentType(m.Data), ";")
	}
	return kind
}

// ParseDataURI splits a data URI into its MIME type and its data.
func ParseDataURI(uri string) (kind string, data []byte, err error) {
	meta, payload, ok := strings.Cut(strings.TrimPrefix(uri, "data:"), ",")
	if !ok {
		return "", nil, fmt.Errorf("a data URI has no comma")
	}
	kind, params, _ := strings.Cut(meta, ";")
	if strings.HasSuffix(params, "base64") || meta == "base64" {
		data, err = base64.StdEncoding.DecodeString(payload)
	} else {
		var s string
		s, err = url.PathUnescape(payload)
		data = []byte(s)
	}
	if err != nil {
		return "", nil, fmt.Errorf("a data URI of type %s is malformed: %w", kind, err)
	}
	return kind, data, nil
}
