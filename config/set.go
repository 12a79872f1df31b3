package config

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
)

// Set sets a key in the file and keeps everything else, including comments. The value is a string, number or bool as
// text, or a TOML array. Set creates the file if necessary. An invalid key or value is an error and leaves the file
// unchanged.
func (f File) Set(key, value string) error { return f.change(key, value, false) }

// Add adds an element to a list in the file, as Set does. It does nothing if the list already has the element.
func (f File) Add(key, value string) error { return f.change(key, value, true) }

func (f File) change(key, value string, add bool) error {
	before, after, err := f.changed(key, value, add)
	if err != nil || bytes.Equal(before, after) {
		return err
	}
	return f.write(after)
}

// Unset removes a key from the file, and keeps everything else.
func (f File) Unset(key string) error { return f.remove(key, nil) }

// Remove removes an element from a list in the file, and the key with the last element. It reports whether the list had
// the element.
func (f File) Remove(key, value string) (bool, error) {
	err := f.remove(key, &value)
	if errors.Is(err, errNotSet) {
		return false, nil
	}
	return err == nil, err
}

var errNotSet = errors.New("not set")

// remove removes a key, or one element in its list.
func (f File) remove(key string, element *string) error {
	k, err := findField(key)
	if err != nil {
		return err
	}
	if element != nil && k.typ != reflect.TypeFor[[]string]() {
		return fmt.Errorf("%s is not a list of strings", key)
	}
	before, err := f.read()
	if err != nil {
		return err
	}
	var old, got Config
	if err := decode(before, &old); err != nil {
		_, err = parse(Origin{Layer: f.Layer, Name: f.Path}, before)
		return err
	}
	value, e := k.in(&old), newEditor(bytes.Clone(before))
	list, _ := value.Interface().([]string)
	switch {
	case element != nil && !slices.Contains(list, *element), element == nil && value.IsZero() && !e.has(key):
		return fmt.Errorf("%s is %w in %s", key, errNotSet, f.Path)
	case element != nil && slices.ContainsFunc(list, func(v string) bool { return v != *element }):
		value.Set(reflect.ValueOf(slices.DeleteFunc(slices.Clone(list), func(v string) bool { return v == *element })))
		e.remove(key, *element)
	default:
		value.SetZero()
		e.unset(key)
	}
	if err := decode(e.data, &got); err != nil || !reflect.DeepEqual(old, got) {
		return fmt.Errorf("cannot change %s in %s; edit the file instead", key, f.Path)
	}
	if _, err := parse(Origin{Layer: f.Layer, Name: f.Path}, e.data); err != nil {
		return err
	}
	return f.write(e.data)
}

// Preview returns the file content before and after Set.
func (f File) Preview(key, value string) (before, after []byte, err error) {
	return f.changed(key, value, false)
}

func (f File) changed(key, value string, add bool) (before, after []byte, err error) {
	k, err := findField(key)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case add && k.typ != reflect.TypeFor[[]string]():
		return nil, nil, fmt.Errorf("%s is not a list of strings", key)
	case f.inProject() && k.tag.Get("project") == "":
		return nil, nil, fmt.Errorf("a project cannot set %s; set it in your user configuration", key)
	}
	text := quote(value)
	if !add {
		if text, err = k.literal(value); err != nil {
			return nil, nil, err
		}
	}
	f.required = false
	if before, err = f.read(); err != nil {
		return nil, nil, err
	}
	if before == nil && f.about != "" {
		before = []byte("# Settings for " + strconv.Quote(f.about) + "\n")
	}
	after, err = f.edited(k, before, text, add)
	return before, after, err
}

// AgentCanSet reports whether an agent can ask to change a key in the user's file. Agents cannot change their
// permissions, nor settings that choose programs, endpoints, spending or logging.
func AgentCanSet(key string) bool {
	f, err := findField(key)
	return err == nil && f.tag.Get("agent") == "ask"
}

// edited returns the new file content. It checks that only this key changes.
func (f File) edited(k field, before []byte, text string, add bool) ([]byte, error) {
	var old, want, got Config
	if err := decode(before, &old); err != nil {
		_, err = parse(Origin{Layer: f.Layer, Name: f.Path}, before)
		return nil, err
	}
	e := newEditor(before)
	if add {
		text = "[" + text + "]"
	}
	line := []byte(k.key + " = " + text)
	var wrong *Error
	if _, err := parse(Origin{Layer: LayerFlag}, line); errors.As(err, &wrong) {
		return nil, errors.New(wrong.Message)
	}
	if err := decode(line, &want); err != nil {
		return nil, err
	}
	value := k.in(&want)
	switch {
	case !add:
		e.set(k.key, text)
	case contains(k.in(&old), value.Index(0)):
		return before, nil
	default:
		e.add(k.key, text)
		value = reflect.AppendSlice(k.in(&old), value)
	}
	k.in(&old).Set(value)
	if err := decode(e.data, &got); err != nil || !reflect.DeepEqual(old, got) {
		return nil, fmt.Errorf("cannot change %s in %s; edit the file instead", k.key, f.Path)
	}
	_, err := parse(Origin{Layer: f.Layer, Name: f.Path}, e.data)
	if err == nil && k.key == "provider" && !f.inProject() {
		if err := known(got.Provider, got.Providers); err != nil { // a project can use the user's providers
			return nil, err
		}
	}
	return e.data, err
}

func contains(list, v reflect.Value) bool {
	for i := range list.Len() {
		if list.Index(i).Equal(v) {
			return true
		}
	}
	return false
}

// literal returns a value as TOML.
func (f field) literal(value string) (string, error) {
	if !utf8.ValidString(value) {
		return "", fmt.Errorf("the value of %s is not valid UTF-8", f.key)
	}
	if f.typ == networkType {
		return networkLiteral(value), nil
	}
	var err error
	switch f.typ.Kind() {
	case reflect.String:
		return quote(value), nil
	case reflect.Int:
		_, err = strconv.Atoi(value)
	case reflect.Float64:
		_, err = strconv.ParseFloat(value, 64)
	case reflect.Bool:
		if value != "true" && value != "false" {
			err = strconv.ErrSyntax
		}
	case reflect.Slice:
		if !strings.HasPrefix(value, "[") {
			return "[" + quote(value) + "]", nil
		}
	}
	if err != nil {
		return "", fmt.Errorf("%s must be %s", f.key, typeName(f.typ))
	}
	return value, nil
}

// quote returns a TOML string.
func quote(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r == '"' || r == '\\' }) {
		return `"` + text + `"`
	}
	b, err := toml.Marshal(map[string]string{"k": text})
	if err != nil {
		return `""` // marshalling a string cannot fail
	}
	return string(bytes.TrimSpace(bytes.TrimPrefix(b, []byte("k = "))))
}

// write replaces the file atomically. It follows a symbolic link in the user's directories, but not a link that leads
// out of a project.
func (f File) write(data []byte) error {
	dir, name, mode := "", "", os.FileMode(0o600)
	if f.inProject() {
		dir, name, mode = f.root, f.name, 0o644
	} else {
		real, err := filepath.EvalSymlinks(f.Path)
		if err != nil {
			real = f.Path
		}
		if err := os.MkdirAll(filepath.Dir(real), 0o700); err != nil {
			return err
		}
		dir, name = filepath.Split(real)
	}
	root, err := os.OpenRoot(filepath.Clean(dir))
	if err != nil {
		return err
	}
	defer root.Close()
	if f.inProject() {
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
	}
	if f.Layer == LayerLocal {
		if err := ignore(root, name); err != nil {
			return err
		}
	}
	return replace(root, name, data, mode)
}

// ignore keeps a file out of version control, unless its directory already has a .gitignore.
func ignore(root *os.Root, name string) error {
	list := filepath.Join(filepath.Dir(name), ".gitignore")
	file, err := root.OpenFile(list, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = file.WriteString(filepath.Base(name) + "\n")
	return errors.Join(err, file.Close())
}

// replace writes a file in a directory under another name and renames it.
func replace(root *os.Root, name string, data []byte, mode os.FileMode) error {
	if info, err := root.Stat(name); err == nil {
		mode = info.Mode().Perm()
	}
	temp := name + "." + rand.Text()
	file, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	return nil
}
