package filestore

import (
	"encoding/json"
	"fmt"
)

// Format is the format that this version writes. A log says in its header which one it is in, and
// one that is continued by a newer version has a second header where that begins.
const Format = 1

// A migration takes the objects of a log from one format to the next, as raw JSON, so that it does
// not depend on types which go on changing. Whatever the format, a record begins with its number:
// {"seq":1, …
type migration struct {
	record func(json.RawMessage) (json.RawMessage, error)
	meta   func(json.RawMessage) (json.RawMessage, error)
}

// formats are all that a store can read: the first migration is from format 1 to format 2.
type formats []migration

// released are the migrations up to Format.
var released = formats{}

func (f formats) current() int { return len(f) + 1 }

// check refuses a format from the future.
func (f formats) check(format int) error {
	if format < 1 || format > f.current() {
		return fmt.Errorf("the log is in format %d, and this version reads formats up to %d: use a newer version", format, f.current())
	}
	return nil
}

func (f formats) record(format int, raw json.RawMessage) (json.RawMessage, error) {
	var err error
	for _, m := range f[format-1:] {
		if m.record != nil && err == nil {
			raw, err = m.record(raw)
		}
	}
	return raw, err
}

func (f formats) meta(format int, raw json.RawMessage) (json.RawMessage, error) {
	var err error
	for _, m := range f[format-1:] {
		if m.meta != nil && err == nil {
			raw, err = m.meta(raw)
		}
	}
	return raw, err
}
