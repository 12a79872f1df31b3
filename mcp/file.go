package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// File is a file that lists servers, such as a project's .mcp.json. Other programs store their own settings in such
// files, so unknown members are preserved.
type File struct {
	members map[string]json.RawMessage
	servers map[string]json.RawMessage
}

// FileServer is a server as described in a file, in the format that Claude Code, Cursor and gemini-cli use.
type FileServer struct {
	Type       string            `json:"type,omitempty"` // stdio, http or sse
	Command    string            `json:"command,omitempty"`
	Args       []string          `json:"args,omitempty"`
	Env        map[string]string `json:"env,omitempty"`
	Dir        string            `json:"cwd,omitempty"`
	URL        string            `json:"url,omitempty"`
	HTTPURL    string            `json:"httpUrl,omitempty"` // used by gemini-cli
	Headers    map[string]string `json:"headers,omitempty"`
	Timeout    int               `json:"timeout,omitempty"` // call timeout in milliseconds
	Disabled   bool              `json:"disabled,omitempty"`
	Unconfined bool              `json:"unconfined,omitempty"`
}

// ParseFile reads a file. Empty data is a file without servers.
func ParseFile(data []byte) (*File, error) {
	f := &File{members: map[string]json.RawMessage{}, servers: map[string]json.RawMessage{}}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if len(bytes.TrimSpace(data)) == 0 {
		return f, nil
	}
	if err := json.Unmarshal(data, &f.members); err != nil {
		return nil, fmt.Errorf("not a JSON object: %w", plainly(err))
	}
	if list := f.members["mcpServers"]; list != nil {
		if err := json.Unmarshal(list, &f.servers); err != nil {
			return nil, fmt.Errorf("mcpServers is not an object of servers: %w", plainly(err))
		}
	}
	return f, nil
}

// Names returns the server names, sorted.
func (f *File) Names() []string { return slices.Sorted(maps.Keys(f.servers)) }

// Get returns a server as described in the file.
func (f *File) Get(name string) (s FileServer, err error) {
	data, ok := f.servers[name]
	if !ok {
		return s, fmt.Errorf("unknown server %q", name)
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("server %q: %w", name, plainly(err))
	}
	return s, nil
}

// plainly returns a JSON error without Go type names.
func plainly(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s cannot be of type %s", cmp.Or(wrong.Field, "it"), wrong.Value)
	}
	return err
}

// Set adds or replaces a server.
func (f *File) Set(name string, s FileServer) error {
	data, err := json.Marshal(s)
	f.servers[name] = data
	return err
}

// Remove removes a server and reports whether it existed.
func (f *File) Remove(name string) bool {
	_, ok := f.servers[name]
	delete(f.servers, name)
	return ok
}

// Format returns the file content.
func (f *File) Format() ([]byte, error) {
	list, err := json.Marshal(f.servers)
	if err != nil {
		return nil, err
	}
	f.members["mcpServers"] = list
	data, err := json.MarshalIndent(f.members, "", "  ")
	return append(data, '\n'), err
}

// Server returns a server's configuration. expand replaces references to environment variables, such as ${TOKEN}.
func (s FileServer) Server(expand func(string) (string, error)) (Server, error) {
	x := expansion{expand: expand}
	out := Server{
		Command: x.text(s.Command),
		Args:    make([]string, len(s.Args)),
		Env:     x.all(s.Env),
		Dir:     x.text(s.Dir),

		URL:        x.text(cmp.Or(s.URL, s.HTTPURL)),
		Headers:    x.all(s.Headers),
		Timeout:    time.Duration(s.Timeout) * time.Millisecond,
		Disabled:   s.Disabled,
		Unconfined: s.Unconfined,
	}
	for i, a := range s.Args {
		out.Args[i] = x.text(a)
	}
	switch s.Type {
	case "", "stdio", "http", "streamable-http", "streamableHttp", "streamable_http":
	case "sse":
		out.Type = "sse"
	default:
		return out, fmt.Errorf("unknown type %q: use stdio, http or sse", s.Type)
	}
	switch {
	case x.err != nil:
		return out, x.err
	case s.Timeout < 0:
		return out, errors.New("timeout is negative")
	case s.Type == "stdio" && out.URL != "":
		return out, errors.New("a server of type stdio needs a command, not a url")
	case s.Type != "" && s.Type != "stdio" && out.URL == "":
		return out, fmt.Errorf("a server of type %s needs a url", s.Type)
	}
	return out, nil
}

// expansion expands texts and keeps the first error.
type expansion struct {
	expand func(string) (string, error)
	err    error
}

func (x *expansion) text(s string) string {
	out, err := x.expand(s)
	x.err = cmp.Or(x.err, err)
	return out
}

func (x *expansion) all(m map[string]string) map[string]string {
	out := make(map[string]string, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out[k] = x.text(m[k])
	}
	return out
}
