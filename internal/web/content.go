package web

import (
	"bytes"
	"context"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"github.com/reins-agent/reins/internal/pdf"
	"github.com/reins-agent/reins/tool"
)

// text returns a page's text and media type.
func (c Config) text(ctx context.Context, p page) (text, media string, err error) {
	header := p.header.Get("Content-Type")
	media, _, err = mime.ParseMediaType(header)
	if err != nil || media == "application/octet-stream" {
		header = http.DetectContentType(p.body)
		media, _, _ = mime.ParseMediaType(header)
	}
	if media == "application/pdf" {
		text, err = pdf.Text(ctx, p.body)
		if err != nil && ctx.Err() == nil {
			err = tool.Errorf(
				tool.UnsupportedMedia,
				"%s cannot be shown as text: %v. Download it with a command if you need it.", p.url, err,
			)
		}
		return text, media, err
	}
	if !readable(media) || bytes.IndexByte(p.body, 0) >= 0 && !strings.Contains(header, "utf-16") {
		return "", media, tool.Errorf(
			tool.UnsupportedMedia,
			"%s is %s, which cannot be shown as text. Download it with a command if you need it.", p.url, media,
		)
	}
	text, err = decode(p.body, header)
	if err == nil && (media == "text/html" || media == "application/xhtml+xml") {
		text, err = markdown(ctx, c.turn, text, p.url)
	}
	return text, media, err
}

// readable reports whether a media type can be shown as text.
func readable(media string) bool {
	kind, sub, _ := strings.Cut(media, "/")
	switch {
	case kind == "text", strings.HasSuffix(sub, "+json"), strings.HasSuffix(sub, "+xml"):
		return true
	case kind != "application":
		return false
	}
	switch strings.TrimPrefix(sub, "x-") {
	case "json", "ndjson", "jsonlines", "xml", "yaml", "toml", "javascript", "ecmascript", "typescript", "sh", "sql", "graphql", "markdown":
		return true
	}
	return false
}

// decode returns a body as UTF-8. A body without a declared encoding counts as UTF-8 if it is valid UTF-8.
func decode(body []byte, contentType string) (string, error) {
	encoding, name, certain := charset.DetermineEncoding(body, contentType)
	if name == "utf-8" || !certain && utf8.Valid(body) {
		return strings.ToValidUTF8(string(bytes.TrimPrefix(body, []byte("\ufeff"))), "\ufffd"), nil
	}
	b, err := encoding.NewDecoder().Bytes(body)
	return string(b), err
}
