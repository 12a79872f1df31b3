//go:build unix

package tools_test

import (
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/tools"
	"github.com/reins-agent/reins/tool"
)

func TestViewImage_ShowsImagesAndNothingElse(t *testing.T) {
	r := newRig(t, tools.Config{})
	r.write("i", string(png))
	r.write("t.png", "text")
	r.write("cut.png", string(png[:20]))
	r.write("huge.png", string(png)+strings.Repeat("x", 16<<20))
	r.write("empty.png", "")
	out := r.run("view_image", args{"path": "i", "detail": "original"})
	if !out.OK() || len(out.Result.Images) != 1 || out.Result.Images[0].Detail != "original" || string(out.Result.Images[0].Data) != string(png) {
		t.Errorf("%+v", out)
	}
	r.ok("view_image", args{"path": "cut.png"})
	r.fails(tool.UnsupportedMedia, "view_image", args{"path": "t.png"}, "not a PNG")
	r.fails(tool.UnsupportedMedia, "view_image", args{"path": "empty.png"})
	r.fails(tool.TooLarge, "view_image", args{"path": "huge.png"}, "the maximum is 15 MiB", "Scale it down")
	r.fails(tool.ValidationError, "view_image", args{"path": "i", "detail": "blurry"}, "high or original")
	r.fails(tool.FileNotFound, "view_image", args{"path": "nothing"})
	r.fails(tool.NotAFile, "view_image", args{"path": "."})
	r.declares("view_image", args{"path": "i"}, "read "+r.path("i"))
}
