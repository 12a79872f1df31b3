// Package transcript shows a session's conversation in a window: it scrolls, searches, folds and copies.
//
// It lays out only what the window shows, and forgets layouts that the window has not shown for a while. All positions are
// relative to items, so that the visible lines stay in place when other items change or get their real height.
package transcript

import (
	"slices"
	"time"

	"github.com/reins-agent/reins/internal/tui/render"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/view"
)

// maxRows is how many laid out rows stay in memory beside the rows on the screen.
const maxRows = 4096

// View is a window on a session's conversation. It is not safe for concurrent use.
type View struct {
	state   *view.State
	layout  render.Layout
	height  int
	entries []entry
	durable int // state items that are in entries for good

	agent string // whose items are shown, unless every is set
	every bool

	expand   bool              // new default for folded items
	override map[view.Key]bool // items with another state of folding
	peek     view.Key          // unfolded, because a match is in it

	top    place
	follow bool // the window shows the end
	eye    int  // what stood at the top before the width changed, as the number of letters before it in its block; or -1

	find search

	rows  int    // laid out rows
	clock uint64 // counts frames
}

// entry is an item in the view.
type entry struct {
	key     view.Key
	item    int // index in the state
	kind    view.Kind
	agent   string
	bytes   int32 // text size
	lines   int32 // text lines
	height  int32 // known rows, or 0
	running bool
	body    *body
}

// body is an item's layout as far as it was needed.
type body struct {
	*render.Body
	rows [][]text.Line // by block; nil if not laid out
	used []uint64      // when a block was last shown
	seen uint64        // when the body was last used
	took string        // a running call's duration
	prev view.Key      // the entry before it
}

// place is a row in an entry's block.
type place struct{ entry, block, row int }

// New returns a session view. It shows where the main agent's conversation ends.
func New(s *view.State) *View {
	v := &View{state: s, follow: true, eye: -1, override: make(map[view.Key]bool)}
	v.layout.Width, v.height = 80, 24
	v.Sync(nil)
	return v
}

// Reset shows another session state, such as a state that was loaded again. It keeps the reader's place if it can.
func (v *View) Reset(s *view.State) {
	key := v.topKey()
	v.state = s
	v.reload(key)
}

// Resize changes the window size. The row at the top keeps its text.
func (v *View) Resize(width, height int) {
	width, height = max(width, 1), max(height, 1)
	if width != v.layout.Width {
		if !v.follow && v.eye < 0 {
			v.eye = v.letters()
		}
		v.layout.Width = width
		v.forgetAll()
		if v.eye >= 0 {
			v.look()
		}
	}
	v.height = height
}

// SetRule changes how the terminal counts columns.
func (v *View) SetRule(r text.Rule) {
	if r != v.layout.Rule {
		v.layout.Rule = r
		v.forgetAll()
	}
}

// SetImages changes what draws images, or lays all items out again because it draws them in another way.
func (v *View) SetImages(i render.Images) {
	v.layout.Images = i
	v.forgetAll()
}

// Width returns the window width.
func (v *View) Width() int { return v.layout.Width }

// Show chooses whose items are shown: one agent's ("" is the main agent), or every agent's.
func (v *View) Show(agent string, every bool) {
	if agent == v.agent && every == v.every {
		return
	}
	key := v.topKey()
	v.agent, v.every = agent, every
	v.reload(key)
}

// Shown returns whose items are shown.
func (v *View) Shown() (agent string, every bool) { return v.agent, v.every }

func (v *View) reload(top view.Key) {
	v.forgetAll()
	v.entries, v.durable = nil, 0
	v.Sync(nil)
	v.top = place{}
	if i, ok := v.state.Find(top); ok {
		v.top.entry, _ = v.entryOf(i)
	}
	if v.top.entry >= len(v.entries) {
		v.follow = true
	}
	v.research()
}

// Sync reads what changed in the state. It must be called after records were applied to the state, with the keys that
// Apply returned.
func (v *View) Sync(changed []view.Key) {
	for _, key := range changed {
		if i, ok := v.state.Find(key); ok && i < v.durable {
			if e, ok := v.entryOf(i); ok {
				v.load(e, true)
			}
		}
	}
	n := v.state.Len()
	first, _ := v.entryOf(v.durable)
	top := v.topKey()
	old := slices.Clone(v.entries[first:])
	v.entries = v.entries[:first]
	for i := v.durable; i < n; i++ {
		item := v.state.Item(i)
		if !v.every && item.Agent != v.agent {
			continue
		}
		e := entry{key: item.Key, item: i, kind: item.Kind, agent: item.Agent}
		if at := slices.IndexFunc(old, func(e entry) bool { return e.key == item.Key }); at >= 0 {
			e.body, old[at].body = old[at].body, nil
		}
		v.entries = append(v.entries, e)
		v.measure(len(v.entries)-1, item)
		if e.body != nil {
			v.update(len(v.entries)-1, item)
		}
		v.neighbor(len(v.entries) - 1)
	}
	for i := range old {
		v.drop(&old[i])
	}
	for v.durable = n; v.durable > 0 && v.state.Item(v.durable-1).Live(); v.durable-- {
	}
	if !v.follow && v.top.entry >= first {
		if at := slices.IndexFunc(v.entries[first:], func(e entry) bool { return e.key == top }); at >= 0 {
			v.top.entry = first + at
		}
	}
	v.find.stale = true
}

// neighbor drops an entry's layout if another entry is above it now.
func (v *View) neighbor(e int) {
	if en := &v.entries[e]; en.body != nil && en.body.prev != v.above(e) {
		v.drop(en)
	}
}

// above returns the key that belongs to the entry above.
func (v *View) above(e int) view.Key {
	if e == 0 {
		return ""
	}
	return v.entries[e-1].key
}

// entryOf returns an item's entry, or the next entry.
func (v *View) entryOf(item int) (at int, ok bool) {
	return slices.BinarySearchFunc(v.entries, item, func(e entry, item int) int { return e.item - item })
}

// load reads an item again.
func (v *View) load(e int, changed bool) {
	item := v.state.Item(v.entries[e].item)
	v.measure(e, item)
	if changed && v.entries[e].body != nil {
		v.update(e, item)
	}
}

// measure estimates an item's height.
func (v *View) measure(e int, item view.Item) {
	en := &v.entries[e]
	en.height, en.running = 0, false
	en.bytes, en.lines = int32(min(len(item.Text), 1<<30)), 2
	switch {
	case item.Kind == view.KindReasoning && !item.Said, item.Kind == view.KindNotice:
		en.bytes = 0
	case item.Tool != nil:
		t := item.Tool
		en.running = t.State == view.ToolRunning
		en.bytes = 0
		if t.Diff != "" || t.Output.Tail != "" {
			en.lines += 5
		}
	}
}

// estimate returns an entry's height, or an estimate.
func (v *View) estimate(e *entry) int {
	if e.height > 0 {
		return int(e.height)
	}
	return int(e.lines) + int(e.bytes)/max(v.layout.Width*3/5, 1)
}

// update lays out a changed item again.
func (v *View) update(e int, item view.Item) {
	en := &v.entries[e]
	from, ok := en.body.Write(item)
	if !ok {
		v.drop(en)
		return
	}
	en.body.resize(v, from)
}

// resize drops the rows of blocks from one on, because they changed.
func (b *body) resize(v *View, from int) {
	for i := from; i < len(b.rows); i++ {
		v.rows -= len(b.rows[i])
		b.rows[i] = nil
	}
	n := b.Len()
	for len(b.rows) < n {
		b.rows, b.used = append(b.rows, nil), append(b.used, 0)
	}
	b.rows, b.used = b.rows[:n], b.used[:n]
}

func (v *View) drop(e *entry) {
	if e.body == nil {
		return
	}
	for _, r := range e.body.rows {
		v.rows -= len(r)
	}
	e.body = nil
}

// forgetAll drops everything that was laid out.
func (v *View) forgetAll() {
	for i := range v.entries {
		v.entries[i].body, v.entries[i].height = nil, 0
	}
	v.rows = 0
}

// expanded reports whether an item is unfolded.
func (v *View) expanded(key view.Key) bool { return v.expand != v.override[key] || key == v.peek }

// bodyOf returns an entry's body.
func (v *View) bodyOf(e int) *body {
	en := &v.entries[e]
	if en.body == nil {
		item := v.state.Item(en.item)
		o := v.layout
		o.Expanded = v.expanded(en.key)
		label := ""
		if v.every && (e > 0 && v.entries[e-1].agent != en.agent || e == 0 && en.agent != "") {
			label = v.label(en.agent)
		}
		en.body = &body{Body: render.Item(item, label, o), prev: v.above(e)}
		en.body.resize(v, 0)
		if en.running {
			en.body.took = render.Took(*item.Tool, v.layout.Now)
		}
	}
	en.body.seen = v.clock
	return en.body
}

func (v *View) label(path string) string {
	if a, ok := v.state.Agent(path); ok && a.Label() != "" {
		return a.Label()
	}
	return "main"
}

// block returns a block's rows, with the blank line before it.
func (v *View) block(e, i int) []text.Line {
	b := v.bodyOf(e)
	if i >= len(b.rows) {
		return nil
	}
	b.used[i] = v.clock
	if b.rows[i] == nil {
		o := v.layout
		o.Expanded = v.expanded(v.entries[e].key)
		lines := b.Lines(i, o)
		if i == 0 && v.gap(e) || i > 0 && b.Block(i).Gap {
			lines = append([]text.Line{{}}, lines...)
		}
		if lines == nil {
			lines = []text.Line{}
		}
		b.rows[i] = lines
		v.rows += len(lines)
	}
	return b.rows[i]
}

// gap reports whether a blank line stands before an entry.
func (v *View) gap(e int) bool {
	if e == 0 {
		return false
	}
	a, b := v.entries[e-1], v.entries[e]
	return a.kind != b.kind || a.agent != b.agent || a.kind != view.KindTool && a.kind != view.KindNotice
}

// trim forgets layouts outside the last frame, if they take too much memory.
func (v *View) trim() {
	if v.rows <= maxRows {
		return
	}
	for i := range v.entries {
		e := &v.entries[i]
		if e.body == nil {
			continue
		}
		if e.body.seen != v.clock {
			v.settle(e)
			v.drop(e)
			continue
		}
		for k, at := range e.body.used {
			if at != v.clock {
				v.rows -= len(e.body.rows[k])
				e.body.rows[k] = nil
			}
		}
	}
}

// settle remembers an entry's height after its whole layout.
func (v *View) settle(e *entry) {
	n := 0
	for _, r := range e.body.rows {
		if r == nil {
			return
		}
		n += len(r)
	}
	e.height = int32(n)
}

// Lines returns the window's rows: as many as it is high.
func (v *View) Lines(now time.Time) []text.Line {
	v.clock++
	v.tick(now)
	v.place()
	out := make([]text.Line, 0, v.height)
	p := v.top
	for len(out) < v.height && p.entry < len(v.entries) {
		rows := v.block(p.entry, p.block)
		for n := p.row; n < len(rows) && len(out) < v.height; n++ {
			out = append(out, v.found(p.entry, p.block, n, rows))
		}
		p = v.after(p)
	}
	for len(out) < v.height {
		out = append(out, nil)
	}
	v.trim()
	return out
}

// after returns where the next block starts.
func (v *View) after(p place) place {
	p.block, p.row = p.block+1, 0
	if p.block >= len(v.bodyOf(p.entry).rows) {
		p.entry, p.block = p.entry+1, 0
	}
	return p
}

// tick updates the durations of running calls on the screen.
func (v *View) tick(now time.Time) {
	v.layout.Now = now
	for i := max(len(v.entries)-200, 0); i < len(v.entries); i++ {
		e := &v.entries[i]
		if !e.running || e.body == nil {
			continue
		}
		if t := v.state.Item(e.item).Tool; t == nil || render.Took(*t, now) != e.body.took {
			v.drop(e)
		}
	}
}

// Running reports whether a running call is on the screen, whose duration changes with time.
func (v *View) Running() bool {
	for i := max(len(v.entries)-200, 0); i < len(v.entries); i++ {
		if e := v.entries[i]; e.running && e.body != nil && e.body.seen == v.clock {
			return true
		}
	}
	return false
}
