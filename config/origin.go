package config

import (
	"fmt"
	"slices"
	"strings"
)

// Layer is a source of settings.
type Layer string

// The layers, lowest first.
const (
	LayerDefault     Layer = "default"
	LayerSystem      Layer = "system"
	LayerUser        Layer = "user"
	LayerProject     Layer = "project"
	LayerLocal       Layer = "local"
	LayerPersonal    Layer = "personal"
	LayerProfile     Layer = "profile"
	LayerEnvironment Layer = "environment"
	LayerFlag        Layer = "flag"
	LayerManaged     Layer = "managed"
)

var layerOrder = []Layer{
	LayerDefault, LayerSystem, LayerUser, LayerProject, LayerLocal, LayerPersonal, LayerProfile, LayerEnvironment, LayerFlag, LayerManaged,
}

// Above reports whether settings in l override settings in another layer.
func (l Layer) Above(other Layer) bool {
	return slices.Index(layerOrder, l) > slices.Index(layerOrder, other)
}

// Origin is where a value comes from.
type Origin struct {
	Layer Layer  `json:"layer"`
	Name  string `json:"name,omitempty"` // a file, a variable or a flag
	Line  int    `json:"line,omitempty"` // in a file
}

// ofProject reports whether the source is a project file.
func (o Origin) ofProject() bool { return o.Layer == LayerProject || o.Layer == LayerLocal }

func (o Origin) String() string {
	switch {
	case o.Name == "":
		return string(o.Layer)
	case o.Line == 0:
		return o.Name
	}
	return fmt.Sprintf("%s:%d", o.Name, o.Line)
}

// Note reports a setting without effect, or a whole file if Key is "".
type Note struct {
	Key    string `json:"key"`
	Origin Origin `json:"origin"`
	Reason string `json:"reason"`
}

func (n Note) String() string {
	if n.Key == "" {
		return fmt.Sprintf("%s: the whole file is ignored: %s", n.Origin, n.Reason)
	}
	return fmt.Sprintf("%s: %s is ignored: %s", n.Origin, n.Key, n.Reason)
}

// Error is a mistake in a configuration.
type Error struct {
	Name         string // file, variable or flag
	Line, Column int    // in a file, counted from 1
	Message      string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Name + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.Name, e.Line, e.Column, e.Message)
}

// brief shortens text from a file for an error.
func brief(text string) string {
	const maximum = 80
	if len(text) > maximum {
		text = strings.ToValidUTF8(text[:maximum], "") + "…"
	}
	return text
}
