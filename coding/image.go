package coding

import (
	"bytes"
	"context"
	"fmt"
	"image"
	_ "image/gif"  // formats that models look at
	_ "image/jpeg" // and whose size we tell
	_ "image/png"
	"net/http"

	"github.com/reins-agent/reins/coding/engine"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

type viewImageIn = engine.Image

func (f files) viewImage() tool.Tool {
	return tool.New(tool.Spec{
		Name: "view_image", Version: "1.0.0",
		Description: "Look at an image file (PNG, JPEG, GIF or WebP).",
		Permissions: []tool.Permission{tool.FSRead}, ReadOnly: true, Idempotent: true,
		Output: payload(),
	}, func(ctx context.Context, c *tool.Call, in viewImageIn) []policy.Access {
		return []policy.Access{touches(ctx, c, policy.Read, in.Path)}
	}, presented(f.picture, func(in viewImageIn, page engine.Page) tool.Result { return showImage(in.Path, page) }))
}

// picture reads an image.
func (f files) picture(ctx context.Context, c *tool.Call, in viewImageIn) (engine.Page, error) {
	if in.Detail != "" && in.Detail != "high" && in.Detail != "original" {
		return engine.Page{}, engine.Fail(tool.ValidationError, "detail is %q; it must be high or original.", in.Detail)
	}
	data, err := f.read(ctx, c.Env, in.Path)
	if err != nil {
		return engine.Page{}, failed(err, in.Path).Error
	}
	kind := imageType(data)
	if kind == "" {
		return engine.Page{}, engine.Fail(tool.UnsupportedMedia, "%s is not a PNG, JPEG, GIF or WebP image.", in.Path)
	}
	return imagePage(c, in.Path, data, kind, in.Detail)
}

// imageType is the MIME type of an image that models can look at, or "".
func imageType(data []byte) string {
	switch kind := http.DetectContentType(data); kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return kind
	}
	return ""
}

// maxImage bounds an image that is sent to a model; providers refuse larger ones.
const maxImage = 15 << 20

// imagePage is an image for the model to look at.
func imagePage(c *tool.Call, p string, data []byte, kind, detail string) (engine.Page, error) {
	if !c.Vision {
		return engine.Page{}, engine.Fail(tool.UnsupportedMedia, "%s is an image (%s), and this model cannot look at images. Learn about it with a program such as file.", p, kind)
	}
	if len(data) > maxImage {
		return engine.Page{}, engine.Fail(tool.TooLarge, "%s is an image of %d MiB; at most %d MiB can be shown. Scale it down first.", p, len(data)>>20, maxImage>>20)
	}
	page := engine.Page{Image: &llm.Image{Media: llm.Media{MIME: kind, Data: data, Name: p}, Detail: detail}}
	if conf, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil {
		page.Width, page.Height = conf.Width, conf.Height
	}
	return page, nil
}

func showImage(p string, page engine.Page) tool.Result {
	size := ""
	if page.Width > 0 {
		size = fmt.Sprintf(", %d×%d", page.Width, page.Height)
	}
	res := tool.Success("[%s: %s%s, %d bytes]", p, page.Image.MIME, size, len(page.Image.Data))
	res.Images = []llm.Image{*page.Image}
	return res
}
