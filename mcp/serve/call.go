package serve

import (
	"context"
	"crypto/rand"
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reins-agent/reins/internal/media"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// call runs a call from a client.
func (s *Server) call(ctx context.Context, req *sdk.CallToolRequest, out *result) (*sdk.CallToolResult, error) {
	ctx, end, err := s.begin(ctx, req)
	if err != nil {
		return nil, err
	}
	defer end()
	ask := &approver{server: s, req: req, otherwise: s.config.Pipeline.Approve}
	pipe := *s.config.Pipeline
	pipe.Approve = ask.approve
	pipe.Middleware = append([]tool.Middleware{s.limit}, pipe.Middleware...)
	c := tool.Call{
		ID:     "mcp_" + rand.Text(),
		Name:   req.Params.Name,
		Args:   req.Params.Arguments,
		Env:    s.config.Env,
		Vision: true,
	}
	var shown *progress
	if token := req.Params.GetProgressToken(); token != nil {
		shown = showProgress(ctx, req.Session, token)
		c.Output = shown.write
	}
	o := pipe.Run(ctx, c)
	shown.close()
	if c, ok := o.Result.Output.(io.Closer); ok {
		defer c.Close()
	}
	switch {
	case o.Pending && ask.question != nil:
		return ask.question, nil
	case o.Pending:
		return nil, context.Cause(ctx)
	}
	return answer(o, out), nil
}

// limit is middleware that limits how many calls run at the same time. Calls that wait for approval do not count.
func (s *Server) limit(ctx context.Context, _ tool.Call, next func(context.Context) (tool.Result, error)) (tool.Result, error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
		return next(ctx)
	case <-ctx.Done():
		return tool.Result{}, context.Cause(ctx)
	}
}

// answer converts an outcome for clients.
func answer(o tool.Outcome, out *result) *sdk.CallToolResult {
	images, note := media.FitAll(o.Result.Images)
	text := o.Model + note
	r := &sdk.CallToolResult{IsError: !o.OK(), Content: []sdk.Content{&sdk.TextContent{Text: text}}}
	for _, img := range images {
		r.Content = append(r.Content, content(img))
	}
	if out == nil || r.IsError {
		return r
	}
	fields := make(map[string]any)
	for name, v := range o.Result.Fields {
		if out.fields[name] {
			fields[name] = v
		}
	}
	if out.fields[wholeOutput] {
		fields[wholeOutput] = text
	}
	r.StructuredContent = fields
	return r
}

func content(img llm.Image) sdk.Content {
	if len(img.Data) == 0 {
		return &sdk.ResourceLink{URI: img.URL, Name: "image", MIMEType: img.MIME}
	}
	return &sdk.ImageContent{Data: img.Data, MIMEType: img.MIME}
}
