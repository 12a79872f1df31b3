package wire

import (
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/reins-agent/reins/llm"
)

// maxInline limits the size of files that are sent inline.
const maxInline = 100 << 20

// Inline reads the file that m names and sets the MIME type if it is missing. It always detects an image's type from
// its bytes, because providers refuse images with a wrong type. A Media with a URL stays a reference, unless the URL is
// a data URI.
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
		return m, errors.New("a media part has no data, URL or path")
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
		return nil, fmt.Errorf("cannot send %s: not a regular file of at most %d MiB", path, maxInline>>20)
	}
	return os.ReadFile(path)
}

// trueImage detects an image's type. It returns kind for other files and unknown images.
func trueImage(kind string, data []byte) string {
	if !strings.HasPrefix(kind, "image/") && kind != "application/octet-stream" {
		return kind
	}
	if found := http.DetectContentType(data); strings.HasPrefix(found, "image/") {
		return found
	}
	return kind
}

// TrueDataURI corrects the type in an image's data URI, as [Inline] does for its data. It returns any other URL
// unchanged.
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
		return "", nil, errors.New("invalid data URI: no comma")
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
		return "", nil, fmt.Errorf("invalid data URI of type %s: %w", kind, err)
	}
	return kind, data, nil
}
