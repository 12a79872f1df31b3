package tui

import (
	"fmt"

	"github.com/reins-agent/reins/internal/tui/edit"
	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/render"
	"github.com/reins-agent/reins/internal/tui/text"
	"github.com/reins-agent/reins/view"
)

// browse is the conversation while it has the focus.
type browse struct {
	on        bool
	selected  view.Key
	searching bool
	query     *edit.Editor
	code      int // which code block of the item was copied last
}

// scroll runs an action that moves the window on the conversation.
func (a *app) scroll(action keys.Action) bool {
	if a.live == nil {
		return false
	}
	v := a.live.view
	switch action {
	case keys.PageUp:
		v.Page(-1)
	case keys.PageDown:
		v.Page(1)
	case keys.LineUp:
		v.Scroll(-1)
	case keys.LineDown:
		v.Scroll(1)
	case keys.Top:
		v.Top()
	case keys.Bottom:
		v.Bottom()
	case keys.PrevPrompt:
		v.Jump(-1)
	case keys.NextPrompt:
		v.Jump(1)
	case keys.Details:
		v.ExpandAll(!v.Expanded())
	case keys.Thinking:
		a.toggleThinking()
	case keys.Search:
		a.browse = browse{on: true, searching: true, query: edit.New(edit.Options{Rule: a.rule})}
	case keys.Browse:
		a.browse.on = !a.browse.on
		a.browse.selected = a.lastVisible()
	default:
		return false
	}
	return true
}

// toggleThinking folds or unfolds the model's thinking.
func (a *app) toggleThinking() {
	for _, item := range a.live.state.Items(0, a.live.state.Len()) {
		if item.Kind == view.KindReasoning {
			a.live.view.Toggle(item.Key)
		}
	}
}

func (a *app) lastVisible() view.Key {
	keys := a.live.view.Visible()
	if len(keys) == 0 {
		return ""
	}
	return keys[len(keys)-1]
}

// browseKey handles a key while the conversation has the focus, and reports whether it was used.
func (a *app) browseKey(k keys.Key) bool {
	b := &a.browse
	if b.searching {
		a.searchKey(k)
		return true
	}
	action, ok := a.keys.Find(k, keys.Transcript)
	if !ok {
		return false
	}
	v := a.live.view
	switch action {
	case keys.BrowseLeave:
		v.Search("")
		a.browse = browse{}
	case keys.BrowseUp:
		a.selectItem(-1)
	case keys.BrowseDown:
		a.selectItem(1)
	case keys.BrowseHalfUp:
		v.Scroll(-a.h / 2)
	case keys.BrowseHalfDown:
		v.Scroll(a.h / 2)
	case keys.BrowseTop:
		v.Top()
	case keys.BrowseBottom:
		v.Bottom()
	case keys.BrowsePrevPrompt:
		v.Jump(-1)
	case keys.BrowseNextPrompt:
		v.Jump(1)
	case keys.BrowseSearch:
		b.searching, b.query = true, edit.New(edit.Options{Rule: a.rule})
	case keys.BrowseNextMatch:
		v.Next(1)
	case keys.BrowsePrevMatch:
		v.Next(-1)
	case keys.BrowseFold:
		a.unfold()
	case keys.BrowseCopy:
		a.copied(v.Source(a.current()), "the item")
	case keys.BrowseCopyCode:
		a.copyCode()
	}
	return true
}

// searchKey handles a key while the user types what to search for.
func (a *app) searchKey(k keys.Key) {
	action, _ := a.keys.Find(k, keys.List)
	switch action {
	case keys.ListCancel:
		a.live.view.Search("")
		a.browse = browse{}
	case keys.ListAccept:
		a.browse.searching = false
	case keys.ListUp:
		a.live.view.Next(-1)
	case keys.ListDown:
		a.live.view.Next(1)
	default:
		a.browse.query.Handle(k)
		a.searched()
	}
}

// searched searches for the typed text.
func (a *app) searched() { a.live.view.Search(a.browse.query.Message().Text) }

// current returns the selected item, if it is on the screen, or else the last one.
func (a *app) current() view.Key {
	for _, key := range a.live.view.Visible() {
		if key == a.browse.selected {
			return key
		}
	}
	return a.lastVisible()
}

// selectItem selects the item before or after the selected one.
func (a *app) selectItem(by int) {
	list := a.live.view.Visible()
	at := 0
	for i, key := range list {
		if key == a.current() {
			at = i
		}
	}
	if to := at + by; to >= 0 && to < len(list) {
		a.browse.selected = list[to]
		return
	}
	a.live.view.Scroll(by * 3)
	if list = a.live.view.Visible(); len(list) > 0 {
		a.browse.selected = list[0]
		if by > 0 {
			a.browse.selected = list[len(list)-1]
		}
	}
}

// unfold shows a tool call's whole output or diff in a pager, and folds or unfolds any other item.
func (a *app) unfold() {
	key := a.current()
	i, ok := a.live.state.Find(key)
	if !ok {
		return
	}
	item := a.live.state.Item(i)
	if item.Tool == nil {
		a.live.view.Toggle(key)
		return
	}
	a.page(item.Tool.Title, toolSections(*item.Tool)...)
}

// copied copies text to the clipboard and confirms it.
func (a *app) copied(s, what string) {
	if s == "" {
		a.say("Nothing to copy.")
		return
	}
	a.term.Copy(s)
	a.say("Copied " + what + ".")
}

// copyAnswer copies the model's last answer.
func (a *app) copyAnswer() {
	if a.live == nil {
		return
	}
	for i := a.live.state.Len() - 1; i >= 0; i-- {
		if item := a.live.state.Item(i); item.Kind == view.KindText && item.Agent == "" {
			a.copied(item.Text, "the last answer")
			return
		}
	}
	a.copied("", "")
}

// copyCode copies the selected item's last code block, and with each further key the block before it.
func (a *app) copyCode() {
	list := a.live.view.Codes(a.current())
	if len(list) == 0 {
		list = a.lastCodes()
	}
	if len(list) == 0 {
		a.say("No code block here.")
		return
	}
	a.browse.code++
	n := len(list) - 1 - (a.browse.code-1)%len(list)
	a.copied(list[n].Source, fmt.Sprintf("code block %d of %d", n+1, len(list)))
}

// lastCodes returns the code blocks in the last answer that has any.
func (a *app) lastCodes() []render.Code {
	visible := a.live.view.Visible()
	for i := len(visible) - 1; i >= 0; i-- {
		if list := a.live.view.Codes(visible[i]); len(list) > 0 {
			return list
		}
	}
	return nil
}

// browseLine is the line that replaces the draft while the conversation has the focus.
func (a *app) browseLine(w int) (l text.Line, x int) {
	b := &a.browse
	if b.searching {
		field := b.query.View(max(w-24, 8), 1)
		l = append(text.Line{{Text: "Search: ", Style: text.Style{Role: text.Accent}}}, field.Lines[0]...)
		if b.query.Empty() {
			return l, 8
		}
		return append(l, text.Span{Text: "  " + a.matches(), Style: text.Style{Role: text.Dim}}), field.X + 8
	}
	hint := "enter: whole output  y: copy  c: copy code  {, }: prompts  /: search  esc: back"
	if n := a.matches(); n != "" {
		hint = n + "  n, N: next  " + hint
	}
	return text.Line{{Text: a.rule.CutText(hint, w), Style: text.Style{Role: text.Dim}}}, -1
}

func (a *app) matches() string {
	current, total := a.live.view.Match()
	if total == 0 {
		if a.browse.searching {
			return "not found"
		}
		return ""
	}
	return fmt.Sprintf("%d of %d", current, total)
}
