package mcp

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// maxFields limits structured content that is stored in addition to the text, in bytes.
const maxFields = 64 << 10

// result converts a server tool's result.
func result(r *sdk.CallToolResult, vision bool) tool.Result {
	var res tool.Result
	text := show(r.Content, vision, &res.Images)
	if r.StructuredContent != nil {
		if b, err := json.Marshal(r.StructuredContent); err == nil {
			if text == "" && len(res.Images) == 0 {
				text = string(b)
			}
			if len(b) <= maxFields {
				res.Fields = map[string]any{"structured_content": r.StructuredContent}
			}
		}
	}
	res.Output = tool.Text(text)
	if r.IsError {
		res.Error = &tool.Error{Code: ToolFailed, Message: "The tool reported a failure.", Shown: true}
	}
	return res
}

// show returns content as text. If the model accepts images, it adds them to the list instead.
func show(content []sdk.Content, vision bool, images *[]llm.Image) string {
	var texts []string
	for _, c := range content {
		text := ""
		switch c := c.(type) {
		case *sdk.TextContent:
			text = c.Text
		case *sdk.ImageContent:
			text = showBlob("image", c.MIMEType, c.Data, vision, images)
		case *sdk.AudioContent:
			text = showBlob("audio", c.MIMEType, c.Data, false, nil)
		case *sdk.ResourceLink:
			text = showLink(c)
		case *sdk.EmbeddedResource:
			text = showResource(c.Resource, vision, images)
		}
		if text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// showBlob describes binary data, or adds it to the images.
func showBlob(kind, mime string, data []byte, vision bool, images *[]llm.Image) string {
	if vision && strings.HasPrefix(mime, "image/") {
		*images = append(*images, llm.Image{Media: llm.Media{MIME: mime, Data: data}})
		return ""
	}
	return fmt.Sprintf("[%s of type %s, %d bytes, not shown]", kind, mime, len(data))
}

func showLink(l *sdk.ResourceLink) string {
	text := fmt.Sprintf("[resource %s", l.URI)
	for _, more := range []string{l.Name, l.MIMEType, l.Description} {
		if more != "" {
			text += ", " + more
		}
	}
	return text + "]"
}

func showResource(r *sdk.ResourceContents, vision bool, images *[]llm.Image) string {
	switch {
	case r == nil:
		return ""
	case r.Blob != nil:
		return fmt.Sprintf("[resource %s]\n", r.URI) + showBlob("data", r.MIMEType, r.Blob, vision, images)
	}
	return fmt.Sprintf("[resource %s]\n%s", r.URI, r.Text)
}
