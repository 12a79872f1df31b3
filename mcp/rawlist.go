package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The SDK refuses a whole list if any tool in it has a member with the wrong type. In that case the list is requested
// again with a custom method, whose response is decoded tool by tool. The connection sends the request as tools/list.
const (
	rawList  = "reins/tools/list"
	realList = "tools/list"
)

type rawParams struct {
	sdk.ParamsBase
	Cursor string `json:"cursor,omitempty"`
}

type rawTools struct {
	sdk.ResultBase
	Tools      []json.RawMessage `json:"tools"`
	NextCursor string            `json:"nextCursor"`
}

// page returns a page from the tool list, and its tools that cannot be decoded.
func (c *conn) page(ctx context.Context, cursor string) (tools []*sdk.Tool, bad []Quarantine, next string, err error) {
	page, err := c.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
	if err == nil {
		return page.Tools, nil, page.NextCursor, nil
	}
	raw, again := sdk.CallCustomMethod[*rawParams, *rawTools](
		context.WithValue(ctx, rawKey{}, true),
		c.ClientSession,
		rawList,
		&rawParams{Cursor: cursor},
	)
	if again != nil {
		return nil, nil, "", err
	}
	for _, r := range raw.Tools {
		var t sdk.Tool
		if err := json.Unmarshal(r, &t); err != nil {
			var named struct{ Name any }
			json.Unmarshal(r, &named)
			bad = append(bad, Quarantine{clip(fmt.Sprint(named.Name)), "its definition is malformed: " + clip(err.Error())})
			continue
		}
		tools = append(tools, &t)
	}
	return tools, bad, raw.NextCursor, nil
}

// rawKey marks the context for a request with the custom method.
type rawKey struct{}

// realMethod replaces the custom method in a message with the standard method.
func realMethod(m jsonrpc.Message) jsonrpc.Message {
	if r, ok := m.(*jsonrpc.Request); ok && r.Method == rawList {
		real := *r
		real.Method = realList
		return &real
	}
	return m
}

// realRequest does the same to an HTTP request.
func realRequest(q *http.Request) error {
	if q.Context().Value(rawKey{}) == nil || q.Body == nil {
		return nil
	}
	b, err := io.ReadAll(q.Body)
	if err != nil {
		return err
	}
	b = bytes.Replace(b, []byte(`"method":"`+rawList+`"`), []byte(`"method":"`+realList+`"`), 1)
	q.Body, q.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
	if q.Header.Get("Mcp-Method") != "" {
		q.Header.Set("Mcp-Method", realList)
	}
	return nil
}
