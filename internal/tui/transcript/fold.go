package transcript

import (
	"strings"

	"github.com/reins-agent/reins/internal/tui/render"
	"github.com/reins-agent/reins/view"
)

// Toggle folds or unfolds an item.
func (v *View) Toggle(key view.Key) {
	if v.override[key] {
		delete(v.override, key)
	} else {
		v.override[key] = true
	}
	if key == v.peek {
		v.peek = ""
	}
	v.refold(key)
}

// ExpandAll unfolds all items, or folds them.
func (v *View) ExpandAll(expand bool) {
	v.expand, v.peek = expand, ""
	clear(v.override)
	v.forgetAll()
	v.top.block, v.top.row = 0, 0
}

// Expanded reports whether items are unfolded by default.
func (v *View) Expanded() bool { return v.expand }

func (v *View) refold(key view.Key) {
	i, _ := v.state.Find(key)
	e, ok := v.entryOf(i)
	if !ok {
		return
	}
	v.entries[e].height = 0
	v.drop(&v.entries[e])
	if v.top.entry == e {
		v.top.row, v.eye = 0, -1
		v.top.block = 0
	}
}

// At returns the item on a window row.
func (v *View) At(y int) (view.Key, bool) {
	v.place()
	if y < 0 || y >= v.height || len(v.entries) == 0 {
		return "", false
	}
	if p := v.down(v.top, y); p.entry < len(v.entries) {
		return v.entries[p.entry].key, true
	}
	return "", false
}

// Visible returns the items in the window, from the top.
func (v *View) Visible() []view.Key {
	v.place()
	var keys []view.Key
	for p, n := v.top, 0; n < v.height && p.entry < len(v.entries); p = v.after(p) {
		rows := len(v.block(p.entry, p.block)) - p.row
		if key := v.entries[p.entry].key; rows > 0 && (len(keys) == 0 || keys[len(keys)-1] != key) {
			keys = append(keys, key)
		}
		n += rows
	}
	return keys
}

// Source returns an item's text as it was written, to be copied. It is not safe to print.
func (v *View) Source(key view.Key) string {
	i, ok := v.state.Find(key)
	if !ok {
		return ""
	}
	item := v.state.Item(i)
	t := item.Tool
	switch {
	case t == nil:
		return item.Text
	case t.Diff != "":
		return t.Diff
	case t.Error != "" && t.Output.Tail == "":
		return t.Error
	}
	var parts []string
	if t.Output.Head != "" {
		parts = append(parts, t.Output.Head)
	}
	return strings.Join(append(parts, t.Output.Tail), "\n")
}

// Codes returns the code blocks in a message, to be copied. They are not safe to print.
func (v *View) Codes(key view.Key) []render.Code {
	if i, ok := v.state.Find(key); ok && v.state.Item(i).Kind == view.KindText {
		return render.Codes(v.state.Item(i).Text)
	}
	return nil
}
