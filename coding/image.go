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

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

type viewImageIn struct {
	Path   string `json:"path" jsonschema:"path of the image"`
	Detail string `json:"detail,omitempty" jsonschema:"high or original"`
}

func (f files) viewImage() tool.Tool {
	return tool.New(tool.Spec{
		Name: "view_image", Version: "1.0.0",
		Description: "Look at an image file (PNG, JPEG, GIF or WebP).",
		Permissions: []tool.Permission{tool.FSRead}, ReadOnly: true, Idempotent: true,
		Output: payload(),
	}, func(ctx context.Context, c *tool.Call, in viewImageIn) []policy.Access {
		return []policy.Access{touches(ctx, c, policy.Read, in.Path)}
	}, func(ctx context.Context, c *tool.Call, in viewImageIn) (tool.Result, error) {
		if in.Detail != "" && in.Detail != "high" && in.Detail != "original" {
			return tool.Failure(tool.ValidationError, "detail is %q; it must be high or original.", in.Detail), nil
		}
		data, err := f.read(ctx, c.Env, in.Path)
		if err != nil {
			return failed(err, in.Path), nil
		}
		kind := imageType(data)
		if kind == "" {
			return tool.Failure(tool.UnsupportedMedia, "%s is not a PNG, JPEG, GIF or WebP image. Use read_file for text.", in.Path), nil
		}
		return showImage(c, in.Path, data, kind, in.Detail), nil
	})
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

func showImage(c *tool.Call, p string, data []byte, kind, detail string) tool.Result {
	if !c.Vision {
		return tool.Failure(tool.UnsupportedMedia, "%s is an image (%s), and this model cannot look at images. Use shell with file or another program to learn about it.", p, kind)
	}
	if len(data) > maxImage {
		return tool.Failure(tool.TooLarge, "%s is an image of %d MiB; %d MiB is the most that can be shown. Scale it down first.", p, len(data)>>20, maxImage>>20)
	}
	size := ""
	if conf, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil {
		size = fmt.Sprintf(", %d×%d", conf.Width, conf.Height)
	}
	res := tool.Success("[%s: %s%s, %d bytes]", p, kind, size, len(data))
	res.Images = []llm.Image{{Media: llm.Media{MIME: kind, Data: data, Name: p}, Detail: detail}}
	return res
}
