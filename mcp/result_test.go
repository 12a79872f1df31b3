package mcp

import (
	"encoding/json"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reins-agent/reins/tool"
)

func TestResult_AllKindsOfContent(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
		images         int
		failed         bool
	}{
		{"text", `{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, "a\nb", 0, false},
		{"nothing", `{"content":[]}`, "", 0, false},
		{"failure", `{"content":[{"type":"text","text":"bad"}],"isError":true}`, "bad", 0, true},
		{"structured", `{"content":[],"structuredContent":{"b":1,"a":[2]}}`, `{"a":[2],"b":1}`, 0, false},
		{"text and structured", `{"content":[{"type":"text","text":"a"}],"structuredContent":{"b":1}}`, "a", 0, false},
		{"image", `{"content":[{"type":"image","data":"UE5H","mimeType":"image/png"}]}`, "", 1, false},
		{"audio", `{"content":[{"type":"audio","data":"UE5H","mimeType":"audio/wav"}]}`, "[audio of type audio/wav, 3 bytes, not shown]", 0, false},
		{"link", `{"content":[{"type":"resource_link","uri":"file:///a","name":"a","mimeType":"text/plain"}]}`, "[resource file:///a, a, text/plain]", 0, false},
		{"resource", `{"content":[{"type":"resource","resource":{"uri":"x://a","text":"inside"}}]}`, "[resource x://a]\ninside", 0, false},
		{"data", `{"content":[{"type":"resource","resource":{"uri":"x://a","blob":"UE5H","mimeType":"application/zip"}}]}`,
			"[resource x://a]\n[data of type application/zip, 3 bytes, not shown]", 0, false},
		{"meta", `{"content":[{"type":"text","text":"a","_meta":{"x":"y"}}],"_meta":{"x":"y"}}`, "a", 0, false},
	} {
		var r sdk.CallToolResult
		if err := json.Unmarshal([]byte(c.in), &r); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		res := result(&r, true)
		if got := tool.String(res.Output); got != c.want || len(res.Images) != c.images || (res.Error != nil) != c.failed {
			t.Errorf("%s: got %q, %d images and the error %v", c.name, got, len(res.Images), res.Error)
		}
	}
}

func TestResult_ImageForAModelWithoutVisionIsDescribed(t *testing.T) {
	r := &sdk.CallToolResult{Content: []sdk.Content{&sdk.ImageContent{Data: []byte("PNG"), MIMEType: "image/png"}}}
	res := result(r, false)
	if got, want := tool.String(res.Output), "[image of type image/png, 3 bytes, not shown]"; got != want || res.Images != nil {
		t.Errorf("got %q and %d images, want %q", got, len(res.Images), want)
	}
}
