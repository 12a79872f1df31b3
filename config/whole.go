package config

import (
	"bytes"
	"fmt"
	"strconv"
)

// Content returns the file's content for an editor. A file that does not exist begins with a comment.
func (f File) Content() ([]byte, error) {
	f.required = false
	data, err := f.read()
	if err == nil && data == nil {
		data = []byte("# Settings of Reins; \"reins config schema\" describes them.\n")
		if f.about != "" {
			data = []byte("# Settings for " + strconv.Quote(f.about) + "\n")
		}
	}
	return data, err
}

// Check returns an error if a text is not a valid configuration for the file.
func (f File) Check(data []byte) error {
	l, err := parse(Origin{Layer: f.Layer, Name: f.Path}, data)
	if err != nil {
		return err
	}
	if !f.inProject() {
		if _, set := l.keys["provider"]; set {
			return known(l.config.Provider, l.config.Providers)
		}
		return nil
	}
	for _, k := range fields {
		if at, set := l.keys[k.key]; set && k.tag.Get("project") == "" {
			return fmt.Errorf("%s: a project cannot set %s; set it in your user configuration", l.origin(at), k.key)
		}
	}
	return nil
}

// Replace checks a text and saves it as the file, unless the file is no longer what Content returned before.
func (f File) Replace(before, after []byte) error {
	if err := f.Check(after); err != nil {
		return err
	}
	now, err := f.Content()
	if err != nil {
		return err
	}
	if !bytes.Equal(now, before) {
		return fmt.Errorf("%s was changed meanwhile; nothing was saved", f.Path)
	}
	return f.write(after)
}
