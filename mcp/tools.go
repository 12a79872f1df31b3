package mcp

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reins-agent/reins/internal/hidden"
	"github.com/reins-agent/reins/tool"
)

const (
	maxTools       = 1000 // per server
	maxPages       = 100
	maxDescription = 4096 // characters
)

// list requests the server's offers.
func (c *conn) list(ctx context.Context) (listing, error) {
	l := listing{origins: map[string]string{}}
	init := c.InitializeResult()
	l.about.protocol, l.about.instructions = init.ProtocolVersion, clip(init.Instructions)
	if i := init.ServerInfo; i != nil {
		l.about.name, l.about.version = clip(i.Name), clip(i.Version)
	}
	caps := init.Capabilities
	if caps == nil {
		return l, nil
	}
	l.resources, l.prompts = caps.Resources != nil, caps.Prompts != nil
	if caps.Tools == nil {
		return l, nil
	}
	cursor := ""
	for range maxPages {
		tools, bad, next, err := c.page(ctx, cursor)
		if err != nil {
			return l, err
		}
		for _, t := range tools {
			l.add(c.srv, t)
		}
		l.leftOut = append(l.leftOut, bad...)
		if cursor = next; next == "" || len(l.tools)+len(l.leftOut) >= maxTools {
			break
		}
	}
	return l, nil
}

// add adds a server's tool, or the reason for leaving it out.
func (l *listing) add(s *server, t *sdk.Tool) {
	name := ToolName(s.name, t.Name)
	made, err := s.remoteTool(name, t)
	switch _, twice := l.origins[name]; {
	case t.Name == "":
		err = errors.New("it has no name")
	case len(l.tools) >= maxTools:
		err = fmt.Errorf("the server has more than %d tools", maxTools)
	case twice:
		err = errors.New("the server lists this tool twice")
	}
	if err != nil {
		l.leftOut = append(l.leftOut, Quarantine{clip(t.Name), err.Error()})
		return
	}
	l.tools = append(l.tools, made)
	l.origins[name] = t.Name
}

// remoteTool returns a server's tool. The server's claims about its effects are not used.
func (s *server) remoteTool(name string, t *sdk.Tool) (tool.Tool, error) {
	if h := hidden.Find(t.Description); h != nil {
		return nil, fmt.Errorf("description contains invisible characters: %s", h)
	}
	schema, err := cleanSchema(t.InputSchema)
	if err != nil {
		return nil, err
	}
	made := tool.NewRaw(tool.Spec{
		Name:        name,
		Description: clip(t.Description),
		Input:       schema,

		Permissions: []tool.Permission{tool.NetConnect},
		OpenWorld:   true,
	}, nil, func(ctx context.Context, c *tool.Call) (tool.Result, error) { return s.call(ctx, t.Name, c), nil })
	// A session's registry must accept the tool.
	if err := new(tool.Registry).Register(made); err != nil {
		return nil, err
	}
	return made, nil
}

// own returns the listing for a server with host tools.
func (s *server) own() listing {
	l := listing{origins: map[string]string{}}
	for _, t := range s.Tools {
		name := ToolName(s.name, t.Spec().Name)
		if _, twice := l.origins[name]; twice {
			l.leftOut = append(l.leftOut, Quarantine{t.Spec().Name, "there are two tools with this name"})
			continue
		}
		l.tools = append(l.tools, renamed{t, name})
		l.origins[name] = t.Spec().Name
	}
	return l
}

// renamed is a host tool with the name that it has as a server's tool.
type renamed struct {
	tool.Tool
	name string
}

func (t renamed) Spec() tool.Spec {
	s := t.Tool.Spec()
	s.Name = t.name
	return s
}

// Unwrap returns the host's tool.
func (t renamed) Unwrap() tool.Tool { return t.Tool }

// offer replaces the server's offers, and reports the changes.
func (s *server) offer(l listing) {
	s.client.changes.Lock()
	defer s.client.changes.Unlock()
	had := s.client.hasResources()
	change := Change{Server: s.name}
	s.mu.Lock()
	old := map[string]tool.Tool{}
	for _, t := range s.tools {
		name := t.Spec().Name
		old[name] = t
		if _, stays := l.origins[name]; !stays {
			change.Remove = append(change.Remove, name)
		}
	}
	for i, t := range l.tools {
		if o := old[t.Spec().Name]; o != nil && sameSpec(o.Spec(), t.Spec()) {
			l.tools[i] = o
		} else {
			change.Add = append(change.Add, t)
		}
	}
	s.listing = l
	s.mu.Unlock()
	s.client.report(change, had)
}

// retract removes all tools after a server was closed and removed from the client.
func (s *server) retract() {
	s.client.changes.Lock()
	defer s.client.changes.Unlock()
	change := Change{Server: s.name}
	s.mu.Lock()
	for _, t := range s.tools {
		change.Remove = append(change.Remove, t.Spec().Name)
	}
	had := s.resources
	s.listing = listing{}
	s.mu.Unlock()
	s.client.report(change, had || s.client.hasResources())
}

// report reports a change to the host; c.changes is held. hadResources reports whether any server had resources before.
func (c *Client) report(ch Change, hadResources bool) {
	switch has := c.hasResources(); {
	case has && !hadResources:
		ch.Add = append(ch.Add, c.resourceTools()...)
	case hadResources && !has:
		for _, t := range c.resourceTools() {
			ch.Remove = append(ch.Remove, t.Spec().Name)
		}
	}
	if f := c.cfg.OnChange; f != nil && len(ch.Add)+len(ch.Remove) > 0 && c.ctx.Err() == nil {
		f(ch)
	}
}

func sameSpec(a, b tool.Spec) bool {
	a.Adapt, b.Adapt = nil, nil
	return reflect.DeepEqual(a, b)
}

// clip truncates text from a server, and replaces invisible characters.
func clip(text string) string { return shorten(hidden.Replace(text, 0)) }

// shorten truncates text.
func shorten(text string) string {
	if utf8.RuneCountInString(text) <= maxDescription {
		return text
	}
	return string([]rune(text)[:maxDescription]) + " [truncated]"
}
