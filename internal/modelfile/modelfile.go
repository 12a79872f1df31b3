// Package modelfile reads and writes the imported model list in the state directory. Built-in models keep their rules:
// only their prices are stored.
package modelfile

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/reins-agent/reins/internal/atomicfile"
	"github.com/reins-agent/reins/llm"
)

// File is the content of the model list.
type File struct {
	Source string      `json:"source"`
	Day    string      `json:"day"`
	Models []llm.Model `json:"models,omitempty"`
	Prices []Price     `json:"prices,omitempty"`
}

// Price is the price of a built-in model.
type Price struct {
	Provider string     `json:"provider"`
	ID       string     `json:"id"`
	Price    *llm.Price `json:"price"`
}

// Read returns a catalogue with the models and prices of a file. The file may not exist.
func Read(path string, c *llm.Catalogue) (*llm.Catalogue, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return c, nil
	}
	var f File
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err != nil {
		return nil, err
	}
	return f.Extend(c)
}

// Write replaces a file.
func (f File) Write(path string) error {
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(path, append(data, '\n'), 0o600)
}

// Extend adds the models that the catalogue does not have, and replaces prices.
func (f File) Extend(c *llm.Catalogue) (*llm.Catalogue, error) {
	var models []llm.Model
	for _, m := range f.Models {
		if _, listed := c.Exact(m.Provider, m.ID); !listed {
			models = append(models, m)
		}
	}
	for _, p := range f.Prices {
		if m, listed := c.Exact(p.Provider, p.ID); listed && m.ID == p.ID && p.Price != nil {
			m.Price = p.Price
			models = append(models, m)
		}
	}
	if len(models) == 0 {
		return c, nil
	}
	return c.Extend(models...)
}
