package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/mcp"
)

// ServersFile lists a project's MCP servers.
const ServersFile = ".mcp.json"

// Server is an MCP server in a file.
type Server struct {
	Name     string
	File     mcp.FileServer
	Server   mcp.Server
	Origin   config.Origin
	Inactive string // why it is not used
	Leaves   bool   // it is not used because it would leave the sandbox
	Err      error  // it is invalid
}

// Unconfined reports whether the server is a command that asks to run outside the sandbox.
func (s Server) Unconfined() bool { return s.File.Unconfined && s.File.Command != "" }

// AllServers lists the user's servers, the project's servers and Options.Servers, including inactive servers, sorted by
// name. A user's server replaces a project's server with the same name, even if it is disabled, because the user's rules
// may allow its tools.
func (p *Project) AllServers() ([]Server, error) {
	list := p.place(nil, p.extra)
	if path, err := p.ServersFile(); err == nil {
		found, err := p.ReadServers(filepath.Dir(path), filepath.Base(path), config.LayerUser)
		if err != nil {
			return nil, mistake(err)
		}
		list = p.place(list, found)
	}
	found, err := p.ReadServers(p.Root, ServersFile, config.LayerProject)
	switch {
	case err != nil && !p.Trusted:
		p.notef(NoteServer, "ignoring the MCP servers of an untrusted project: %v", err)
	case err != nil:
		return nil, mistake(err)
	}
	list = p.place(list, found)
	slices.SortStableFunc(list, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// place adds servers to a list, and decides which of them are not used.
func (p *Project) place(list, found []Server) []Server {
	var unconfined []string // project servers that the user lets leave the sandbox
	if p.Settings != nil {
		unconfined = p.Settings.MCP.Unconfined
	}
	for _, f := range found {
		ofProject := f.Origin.Layer == config.LayerProject
		if i := slices.IndexFunc(list, func(o Server) bool { return o.Name == f.Name }); i >= 0 {
			f.Inactive = "replaced by the one in " + p.Short(list[i].Origin.Name)
		}
		if ofProject && f.Unconfined() && f.Inactive == "" && !slices.Contains(unconfined, f.Name) {
			f.Inactive, f.Leaves = "the project asks to run it outside the sandbox; to permit that, run: "+
				"reins config set --personal --add mcp.unconfined "+show.Quote(f.Name), true
		}
		if ofProject && !p.Trusted {
			f.Inactive = untrusted
		}
		list = append(list, f)
	}
	return list
}

// readExtra reads the files of Options.Servers.
func (p *Project) readExtra() error {
	for _, name := range p.options.Servers {
		found, err := p.ReadServers(filepath.Dir(name), filepath.Base(name), config.LayerFlag)
		if err != nil {
			return mistakef("--mcp-config: %w", err)
		}
		p.extra = append(p.extra, found...)
	}
	return nil
}

// ReadServers reads the servers in one file. A missing file is an error only in the layer of flags.
func (m Machine) ReadServers(dir, name string, layer config.Layer) (list []Server, err error) {
	path := filepath.Join(dir, name)
	if fi, err := os.Lstat(path); err == nil && fi.IsDir() && layer == config.LayerProject {
		return nil, nil // the sandbox of another session creates a directory in place of a missing file
	}
	data, err := ReadFile(dir, name, layer != config.LayerProject)
	if errors.Is(err, fs.ErrNotExist) && layer != config.LayerFlag {
		return nil, nil
	}
	var file *mcp.File
	if err == nil {
		file, err = mcp.ParseFile(data)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, name := range file.Names() {
		f := Server{Name: name, Origin: config.Origin{Layer: layer, Name: path}}
		if f.File, f.Err = file.Get(name); f.Err == nil {
			f.Server, f.Err = f.File.Server(func(text string) (string, error) { return config.Expand(text, m.getenv) })
		}
		if f.File.Disabled {
			f.Inactive = "disabled"
		}
		list = append(list, f)
	}
	return list, nil
}

// ActiveServers returns the servers to use, by name, and notes invalid servers.
func (p *Project) ActiveServers(list []Server) map[string]mcp.Server {
	m := map[string]mcp.Server{}
	for _, f := range list {
		switch {
		case f.Leaves && f.Inactive != untrusted:
			p.notef(NoteServer, "MCP server %s (%s) is not used: %s", f.Name, p.Short(f.Origin.Name), f.Inactive)
		case f.Inactive != "":
		case f.Err != nil:
			p.notef(NoteServer, "MCP server %s (%s): %v", f.Name, p.Short(f.Origin.Name), f.Err)
		default:
			m[f.Name] = f.Server
		}
	}
	return m
}
