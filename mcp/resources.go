package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

// maxItems limits the resources or prompts that are listed per server.
const maxItems = 1000

// Resource describes data that a server offers.
type Resource struct {
	Server, URI, Name, Description, MIME string
	// Template means that URI is a template (RFC 6570) for resource URIs.
	Template bool
}

// Resources lists a server's resources, or all connected servers' resources if name is empty. If it fails, it also
// returns the resources that it could list.
func (c *Client) Resources(ctx context.Context, name string) ([]Resource, error) {
	var list []Resource
	err := c.each(name, func(s *server) bool { return s.resources }, func(s *server) error {
		return s.do(ctx, nil, nil, func(ctx context.Context, conn *conn) error {
			some, err := conn.resourceList(ctx)
			list = append(list, some...)
			return err
		})
	})
	return list, err
}

// each calls f for the named server. If name is empty, it calls f for all connected servers for which has returns true.
func (c *Client) each(name string, has func(*server) bool, f func(*server) error) error {
	if name != "" {
		s, err := c.find(name)
		if err != nil {
			return err
		}
		return f(s)
	}
	var errs []error
	for _, s := range c.all() {
		s.mu.Lock()
		use := s.conn != nil && has(s)
		s.mu.Unlock()
		if !use {
			continue
		}
		if err := f(s); err != nil {
			errs = append(errs, fmt.Errorf("MCP server %s: %w", s.name, err))
		}
	}
	return errors.Join(errs...)
}

func (c *conn) resourceList(ctx context.Context) ([]Resource, error) {
	var list []Resource
	for r, err := range c.ClientSession.Resources(ctx, nil) {
		if err != nil {
			return list, err
		}
		if r != nil {
			list = append(list, Resource{c.srv.name, r.URI, clip(r.Name), clip(r.Description), r.MIMEType, false})
		}
		if len(list) >= maxItems {
			return list, nil
		}
	}
	for r, err := range c.ResourceTemplates(ctx, nil) {
		if err != nil || len(list) >= maxItems {
			break // many servers have none
		}
		if r != nil {
			list = append(list, Resource{c.srv.name, r.URITemplate, clip(r.Name), clip(r.Description), r.MIMEType, true})
		}
	}
	return list, nil
}

// Content is part of a resource: text or binary data.
type Content struct {
	URI, MIME, Text string
	Blob            []byte
}

// ReadResource reads the resource at uri from a server. A resource can have several parts. Their text is untrusted.
func (c *Client) ReadResource(ctx context.Context, server, uri string) ([]Content, error) {
	s, err := c.find(server)
	if err != nil {
		return nil, err
	}
	res, err := s.read(ctx, uri)
	if err != nil {
		return nil, err
	}
	var list []Content
	for _, r := range res.Contents {
		if r != nil {
			list = append(list, Content{r.URI, r.MIMEType, r.Text, r.Blob})
		}
	}
	return list, nil
}

func (s *server) read(ctx context.Context, uri string) (res *sdk.ReadResourceResult, err error) {
	p := &sdk.ReadResourceParams{URI: uri}
	err = s.do(ctx, nil, p, func(ctx context.Context, conn *conn) (err error) {
		res, err = conn.ReadResource(ctx, p)
		return err
	})
	return res, err
}

// Prompt describes a server's prompt, which a user can call as a command.
type Prompt struct {
	Server, Name, Title, Description string
	Arguments                        []PromptArgument
}

// PromptArgument describes a prompt argument.
type PromptArgument struct {
	Name, Description string
	Required          bool
}

// Prompts lists a server's prompts, or all connected servers' prompts if name is empty. If it fails, it also returns
// the prompts that it could list.
func (c *Client) Prompts(ctx context.Context, name string) ([]Prompt, error) {
	var list []Prompt
	err := c.each(name, func(s *server) bool { return s.prompts }, func(s *server) error {
		return s.do(ctx, nil, nil, func(ctx context.Context, conn *conn) error {
			n := 0
			for p, err := range conn.ClientSession.Prompts(ctx, nil) {
				if n++; err != nil || n > maxItems {
					return err
				}
				if p == nil {
					continue
				}
				one := Prompt{Server: s.name, Name: p.Name, Title: clip(p.Title), Description: clip(p.Description)}
				for _, a := range slices.DeleteFunc(p.Arguments, func(a *sdk.PromptArgument) bool { return a == nil }) {
					one.Arguments = append(one.Arguments, PromptArgument{a.Name, clip(a.Description), a.Required})
				}
				list = append(list, one)
			}
			return nil
		})
	})
	return list, err
}

// GetPrompt returns a prompt's messages, with args filled in by the server. The text is untrusted.
func (c *Client) GetPrompt(ctx context.Context, server, name string, args map[string]string) ([]llm.Message, error) {
	s, err := c.find(server)
	if err != nil {
		return nil, err
	}
	p := &sdk.GetPromptParams{Name: name, Arguments: args}
	var res *sdk.GetPromptResult
	err = s.do(ctx, nil, p, func(ctx context.Context, conn *conn) (err error) {
		res, err = conn.GetPrompt(ctx, p)
		return err
	})
	if err != nil {
		return nil, err
	}
	var list []llm.Message
	for _, m := range res.Messages {
		if m != nil {
			list = append(list, message(m.Role, m.Content))
		}
	}
	return list, nil
}

// newResourceTools returns the tools that list and read resources from all servers.
func (c *Client) newResourceTools() []tool.Tool {
	type listInput struct {
		Server string `json:"server,omitempty" jsonschema:"Name of an MCP server. Omit it to list the resources of all servers."`
	}
	type readInput struct {
		Server string `json:"server" jsonschema:"Name of the MCP server."`
		URI    string `json:"uri" jsonschema:"URI of the resource, as list_mcp_resources shows it."`
	}
	return []tool.Tool{
		tool.New(tool.Spec{
			Name:        "list_mcp_resources",
			Version:     "1.0.0",
			OpenWorld:   true,
			Permissions: []tool.Permission{tool.NetConnect},

			Description: "List the resources of the connected MCP servers: data that they offer, such as files or tables, with its URI.",
		}, nil, func(ctx context.Context, _ *tool.Call, in listInput) (tool.Result, error) {
			list, err := c.Resources(ctx, in.Server)
			if err != nil && len(list) == 0 {
				return tool.Failure(Unavailable, "Cannot list resources: %s", clip(err.Error())), nil
			}
			var lines []string
			for _, r := range list {
				lines = append(lines, r.line())
			}
			res := tool.Success("%s", strings.Join(lines, "\n"))
			if err != nil {
				res.Notes = []string{clip(err.Error())}
			}
			return res, nil
		}),
		tool.New(tool.Spec{
			Name:        "read_mcp_resource",
			Version:     "1.0.0",
			OpenWorld:   true,
			Permissions: []tool.Permission{tool.NetConnect},

			Description: "Read a resource of an MCP server.",
		}, nil, func(ctx context.Context, call *tool.Call, in readInput) (tool.Result, error) {
			s, err := c.find(in.Server)
			if err != nil {
				return tool.Failure(tool.ValidationError, "%v. list_mcp_resources shows the servers.", err), nil
			}
			got, err := s.read(ctx, in.URI)
			if err != nil {
				return s.failure(ctx, err), nil
			}
			var res tool.Result
			var texts []string
			for _, r := range got.Contents {
				texts = append(texts, showResource(r, call.Vision, &res.Images))
			}
			res.Output = tool.Text(strings.Join(texts, "\n"))
			return res, nil
		}),
	}
}

func (r Resource) line() string {
	kind := "resource"
	if r.Template {
		kind = "template"
	}
	text := fmt.Sprintf("%s %s %s (%s)", r.Server, kind, r.URI, r.Name)
	if r.MIME != "" {
		text += " " + r.MIME
	}
	if r.Description != "" {
		text += ": " + r.Description
	}
	return text
}
