package tools

import (
	"bytes"
	"context"
	"fmt"
	"image"
	_ "image/gif" // formats whose size is shown
	_ "image/jpeg"
	_ "image/png"
	"net/http"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// imageTool returns the standard tool that shows images.
func (f files) imageTool() tool.Tool {
	return standard(f.viewImage(), func(in Image, page Page) tool.Result { return showImage(in.Path, page) })
}

func (f files) viewImage() Op[Image, Page] {
	return Op[Image, Page]{
		Spec: tool.Spec{
			Name:    "view_image",
			Version: "1.0.0",

			Description: "View an image file (PNG, JPEG, GIF or WebP).",

			Permissions: []tool.Permission{tool.FSRead},
			ReadOnly:    true,
			Idempotent:  true,

			Output: payload(),
		},
		Access: func(ctx context.Context, c *tool.Call, in Image) []policy.Access {
			return []policy.Access{touches(ctx, c, policy.Read, in.Path)}
		},
		Do: f.picture,
	}
}

// picture reads an image.
func (f files) picture(ctx context.Context, c *tool.Call, in Image) (Page, error) {
	if in.Detail != "" && in.Detail != "high" && in.Detail != "original" {
		return Page{}, tool.Errorf(tool.ValidationError, "detail is %q; it must be high or original.", in.Detail)
	}
	data, err := f.read(ctx, c.Env, in.Path)
	if err != nil {
		return Page{}, failed(err, in.Path)
	}
	kind := imageType(data)
	if kind == "" {
		return Page{}, tool.Errorf(tool.UnsupportedMedia, "%s is not a PNG, JPEG, GIF or WebP image.", in.Path)
	}
	f.saw(ctx, c.Env, in.Path, data)
	return imagePage(c, in.Path, data, kind, in.Detail)
}

// imageType returns the MIME type of an image, or "" if models do not accept the type.
func imageType(data []byte) string {
	switch kind := http.DetectContentType(data); kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return kind
	}
	return ""
}

// maxImage is the maximum size of an image; providers reject larger ones.
const maxImage = 15 << 20

// imagePage returns an image for the model.
func imagePage(c *tool.Call, p string, data []byte, kind, detail string) (Page, error) {
	if !c.Vision {
		return Page{}, tool.Errorf(
			tool.UnsupportedMedia,
			"%s is an image (%s), and this model cannot view images. Inspect it with a program such as file.", p, kind,
		)
	}
	if len(data) > maxImage {
		return Page{}, tool.Errorf(
			tool.TooLarge,
			"%s is an image of %d MiB; the maximum is %d MiB. Scale it down first.", p, len(data)>>20, maxImage>>20,
		)
	}
	page := Page{Source: data, Image: &llm.Image{Media: llm.Media{MIME: kind, Data: data, Name: p}, Detail: detail}}
	if conf, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil {
		page.Width, page.Height = conf.Width, conf.Height
	}
	return page, nil
}

func showImage(p string, page Page) tool.Result {
	size := ""
	if page.Width > 0 {
		size = fmt.Sprintf(", %d×%d", page.Width, page.Height)
	}
	res := tool.Success("[%s: %s%s, %d bytes]", p, page.Image.MIME, size, len(page.Image.Data))
	res.Images = []llm.Image{*page.Image}
	return res
}
