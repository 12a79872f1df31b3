package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/config"
)

// world is a machine with configuration files in temporary directories.
type world struct {
	t       *testing.T
	sources config.Sources
	env     map[string]string
	files   map[config.Layer]string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	home, project, etc := t.TempDir(), t.TempDir(), t.TempDir()
	w := &world{t: t, env: map[string]string{"XDG_CONFIG_HOME": home}, files: map[config.Layer]string{
		config.LayerSystem:  filepath.Join(etc, "config.toml"),
		config.LayerUser:    filepath.Join(home, "reins", "config.toml"),
		config.LayerProject: filepath.Join(project, ".reins", "config.toml"),
		config.LayerLocal:   filepath.Join(project, ".reins", "config.local.toml"),
		config.LayerManaged: filepath.Join(etc, "managed.toml"),
	}}
	w.sources = config.Sources{Dir: project, SystemDir: etc, Trusted: true, Getenv: func(name string) string { return w.env[name] }}
	w.files[config.LayerPersonal] = w.file(config.LayerPersonal).Path
	return w
}

// write writes a layer's file.
func (w *world) write(layer config.Layer, text string) {
	w.t.Helper()
	path := w.files[layer]
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) load() *config.Settings {
	w.t.Helper()
	s, err := config.Load(w.sources)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// file returns a layer's file.
func (w *world) file(layer config.Layer) config.File {
	w.t.Helper()
	for _, f := range w.sources.Files() {
		if f.Layer == layer {
			return f
		}
	}
	w.t.Fatalf("there is no %s file", layer)
	return config.File{}
}

// entry returns a key's value and origins.
func entry(s *config.Settings, key string) config.Entry {
	for _, e := range s.Entries() {
		if e.Key == key {
			return e
		}
	}
	return config.Entry{Key: key}
}

// notes returns the notes as text, without directories.
func notes(s *config.Settings) string {
	var b strings.Builder
	for _, n := range s.Notes {
		n.Origin.Name = filepath.Base(n.Origin.Name)
		b.WriteString(n.String() + "\n")
	}
	return b.String()
}
