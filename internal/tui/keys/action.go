package keys

import "strings"

// Context is a screen area that takes keys.
type Context string

// Contexts. A key is looked up in the part that has the focus first, and then in Global.
const (
	Global     Context = "global"
	Editor     Context = "editor"
	List       Context = "list" // pickers and completions
	Question   Context = "question"
	Transcript Context = "transcript"
	Panel      Context = "panel" // full-screen views, whose lists and texts have their own keys in addition
)

// Contexts returns all contexts, in table order.
func Contexts() []Context { return []Context{Global, Editor, List, Question, Transcript, Panel} }

// Action is what a key does, such as "editor.newline": a context and a name.
type Action string

// Actions everywhere.
const (
	Interrupt   Action = "global.interrupt"
	Cancel      Action = "global.cancel"
	Quit        Action = "global.quit"
	Suspend     Action = "global.suspend"
	Help        Action = "global.help"
	Redraw      Action = "global.redraw"
	NextMode    Action = "global.next-mode"
	Search      Action = "global.search"
	PageUp      Action = "global.page-up"
	PageDown    Action = "global.page-down"
	LineUp      Action = "global.line-up"
	LineDown    Action = "global.line-down"
	Top         Action = "global.top"
	Bottom      Action = "global.bottom"
	PrevPrompt  Action = "global.prev-prompt"
	NextPrompt  Action = "global.next-prompt"
	Browse      Action = "global.browse"
	Details     Action = "global.details"
	Thinking    Action = "global.thinking"
	Copy        Action = "global.copy"
	Model       Action = "global.model"
	Effort      Action = "global.effort"
	Sessions    Action = "global.sessions"
	Agents      Action = "global.agents"
	Tasks       Action = "global.tasks"
	Diff        Action = "global.diff"
	Queue       Action = "global.queue"
	Cost        Action = "global.cost"
	Checkpoints Action = "global.checkpoints"
	Background  Action = "global.background"
	Mouse       Action = "global.mouse"
)

// Editor actions.
const (
	Submit          Action = "editor.submit"
	FollowUp        Action = "editor.follow-up"
	Newline         Action = "editor.newline"
	CharLeft        Action = "editor.left"
	CharRight       Action = "editor.right"
	WordLeft        Action = "editor.word-left"
	WordRight       Action = "editor.word-right"
	LineStart       Action = "editor.line-start"
	LineEnd         Action = "editor.line-end"
	CaretUp         Action = "editor.up"
	CaretDown       Action = "editor.down"
	TextStart       Action = "editor.text-start"
	TextEnd         Action = "editor.text-end"
	DeleteLeft      Action = "editor.delete-left"
	DeleteRight     Action = "editor.delete-right"
	DeleteOrQuit    Action = "editor.delete-or-quit"
	KillWordLeft    Action = "editor.kill-word-left"
	KillWordRight   Action = "editor.kill-word-right"
	KillLineLeft    Action = "editor.kill-line-left"
	KillLineRight   Action = "editor.kill-line-right"
	Yank            Action = "editor.yank"
	YankPop         Action = "editor.yank-pop"
	Undo            Action = "editor.undo"
	Redo            Action = "editor.redo"
	HistoryPrev     Action = "editor.history-prev"
	HistoryNext     Action = "editor.history-next"
	HistorySearch   Action = "editor.history-search"
	ExternalEditor  Action = "editor.external-editor"
	PasteImage      Action = "editor.paste-image"
	ShowPaste       Action = "editor.show-paste"
	CompleteOrQueue Action = "editor.complete"
)

// Actions in lists.
const (
	ListUp       Action = "list.up"
	ListDown     Action = "list.down"
	ListPageUp   Action = "list.page-up"
	ListPageDown Action = "list.page-down"
	ListAccept   Action = "list.accept"
	ListComplete Action = "list.complete"
	ListCancel   Action = "list.cancel"
)

// Actions in questions.
const (
	QuestionPrev     Action = "question.prev"
	QuestionNext     Action = "question.next"
	QuestionChoose   Action = "question.choose"
	QuestionRefuse   Action = "question.refuse"
	QuestionEdit     Action = "question.edit"
	QuestionWhole    Action = "question.whole"
	QuestionPageUp   Action = "question.page-up"
	QuestionPageDown Action = "question.page-down"
	QuestionOther    Action = "question.other"
)

// Actions while the conversation has the focus.
const (
	BrowseUp         Action = "transcript.up"
	BrowseDown       Action = "transcript.down"
	BrowseHalfUp     Action = "transcript.half-page-up"
	BrowseHalfDown   Action = "transcript.half-page-down"
	BrowseTop        Action = "transcript.top"
	BrowseBottom     Action = "transcript.bottom"
	BrowsePrevPrompt Action = "transcript.prev-prompt"
	BrowseNextPrompt Action = "transcript.next-prompt"
	BrowseSearch     Action = "transcript.search"
	BrowseNextMatch  Action = "transcript.next-match"
	BrowsePrevMatch  Action = "transcript.prev-match"
	BrowseFold       Action = "transcript.fold"
	BrowseCopy       Action = "transcript.copy"
	BrowseCopyCode   Action = "transcript.copy-code"
	BrowseLeave      Action = "transcript.leave"
)

// Actions in full-screen views.
const (
	PanelNext    Action = "panel.next"
	PanelSearch  Action = "panel.search"
	PanelFork    Action = "panel.fork"
	PanelExport  Action = "panel.export"
	PanelRemove  Action = "panel.remove"
	PanelMessage Action = "panel.message"
	PanelEdit    Action = "panel.edit"
	PanelSend    Action = "panel.send"
)

// Context returns where an action applies.
func (a Action) Context() Context {
	c, _, _ := strings.Cut(string(a), ".")
	return Context(c)
}

// Name returns the action's name within its context.
func (a Action) Name() string {
	_, name, _ := strings.Cut(string(a), ".")
	return name
}

// info describes an action and gives its default keys.
type info struct {
	action  Action
	summary string
	keys    string
	needed  bool // it must have a key
}

// actions lists all actions, in table order. Every action with a key has a key that works in all terminals.
var actions = [...]info{
	{Interrupt, "stop the work", "esc", true},
	{Cancel, "clear the draft, or stop the work; twice: quit", "ctrl+c", true},
	{Quit, "quit", "ctrl+q", true},
	{Suspend, "suspend Reins, as the shell does", "ctrl+z", false},
	{Help, "show the keys and commands", "f1", false},
	{Redraw, "draw the screen again", "ctrl+l", false},
	{NextMode, "next permission mode", "shift+tab", false},
	{Search, "search the conversation", "ctrl+f", false},
	{PageUp, "page up", "pgup", false},
	{PageDown, "page down", "pgdown", false},
	{LineUp, "line up", "shift+up", false},
	{LineDown, "line down", "shift+down", false},
	{Top, "start of the conversation", "ctrl+home", false},
	{Bottom, "end of the conversation", "ctrl+end", false},
	{PrevPrompt, "previous prompt", "alt+up", false},
	{NextPrompt, "next prompt", "alt+down", false},
	{Browse, "move the focus to the conversation", "ctrl+t", false},
	{Details, "show or hide the details of tool calls", "ctrl+o", false},
	{Thinking, "show or hide the model's thinking", "alt+t", false},
	{Copy, "copy the last answer", "alt+c", false},
	{Model, "choose the model", "alt+m", false},
	{Effort, "choose the reasoning effort", "alt+e", false},
	{Sessions, "list the sessions", "f2", false},
	{Agents, "list the agents", "f3", false},
	{Tasks, "show the tasks and the plan", "f4", false},
	{Diff, "show all changes of the session", "f5", false},
	{Queue, "edit the waiting messages", "alt+q", false},
	{Cost, "show the cost", "f7", false},
	{Checkpoints, "undo to an earlier prompt", "f8", false},
	{Background, "list the background commands and the calls that run", "f9", false},
	{Mouse, "switch the mouse between scrolling and selecting", "f12", false},

	{Submit, "send the message; after a backslash, insert a line break", "enter", true},
	{Newline, "insert a line break", "shift+enter alt+enter ctrl+j", false},
	{CompleteOrQueue, "complete a name; while the agent works, queue the message", "tab", false},
	{FollowUp, "queue the message until the work is done", "alt+s", false},
	{CharLeft, "character left", "left ctrl+b", false},
	{CharRight, "character right", "right", false},
	{WordLeft, "word left", "alt+left ctrl+left alt+b", false},
	{WordRight, "word right", "alt+right ctrl+right alt+f", false},
	{LineStart, "start of the line", "home ctrl+a", false},
	{LineEnd, "end of the line", "end ctrl+e", false},
	{CaretUp, "line up, or previous message", "up", false},
	{CaretDown, "line down, or next message", "down", false},
	{TextStart, "start of the text", "alt+<", false},
	{TextEnd, "end of the text", "alt+>", false},
	{DeleteLeft, "delete the character to the left", "backspace shift+backspace ctrl+h", false},
	{DeleteRight, "delete the character to the right", "delete", false},
	{DeleteOrQuit, "delete the character to the right; without a draft: quit", "ctrl+d", false},
	{KillWordLeft, "cut the word to the left", "ctrl+w alt+backspace ctrl+backspace", false},
	{KillWordRight, "cut the word to the right", "alt+d ctrl+delete alt+delete", false},
	{KillLineLeft, "cut to the start of the line", "ctrl+u", false},
	{KillLineRight, "cut to the end of the line", "ctrl+k", false},
	{Yank, "insert what was cut last", "ctrl+y", false},
	{YankPop, "replace it with what was cut before", "alt+y", false},
	{Undo, "undo", "ctrl+_ ctrl+/ ctrl+-", false},
	{Redo, "redo", "alt+z ctrl+shift+z", false},
	{HistoryPrev, "previous message", "ctrl+p", false},
	{HistoryNext, "next message", "ctrl+n", false},
	{HistorySearch, "search the messages sent before", "ctrl+r", false},
	{ExternalEditor, "write the message in $VISUAL or $EDITOR", "ctrl+g", false},
	{PasteImage, "insert the image in the clipboard", "ctrl+v alt+v", false},
	{ShowPaste, "replace a folded paste with its text", "alt+p", false},

	{ListUp, "up", "up ctrl+p", false},
	{ListDown, "down", "down ctrl+n", false},
	{ListPageUp, "page up", "pgup", false},
	{ListPageDown, "page down", "pgdown", false},
	{ListAccept, "choose", "enter", true},
	{ListComplete, "insert the name", "tab", false},
	{ListCancel, "close the list", "esc", true},

	{QuestionPrev, "previous choice or field", "up shift+tab ctrl+p", false},
	{QuestionNext, "next choice or field", "down tab ctrl+n", false},
	{QuestionChoose, "answer with the selected choice", "enter", true},
	{QuestionRefuse, "refuse", "esc", true},
	{QuestionEdit, "edit the command before allowing it", "ctrl+e", false},
	{QuestionWhole, "show the whole command or diff", "ctrl+o", false},
	{QuestionPageUp, "page up in the command or diff", "pgup", false},
	{QuestionPageDown, "page down in the command or diff", "pgdown", false},
	{QuestionOther, "next question that waits", "alt+n", false},

	{BrowseUp, "up", "up k", false},
	{BrowseDown, "down", "down j", false},
	{BrowseHalfUp, "half a page up", "ctrl+u", false},
	{BrowseHalfDown, "half a page down", "ctrl+d", false},
	{BrowseTop, "start", "home g", false},
	{BrowseBottom, "end", "end G", false},
	{BrowsePrevPrompt, "previous prompt", "{", false},
	{BrowseNextPrompt, "next prompt", "}", false},
	{BrowseSearch, "search", "/", false},
	{BrowseNextMatch, "next match", "n", false},
	{BrowsePrevMatch, "previous match", "N", false},
	{BrowseFold, "show or hide the details of the item", "enter space", false},
	{BrowseCopy, "copy the item", "y", false},
	{BrowseCopyCode, "copy the code block", "c", false},
	{BrowseLeave, "back to the draft", "esc q i", true},

	{PanelNext, "next part of the view, such as the sessions of all directories", "tab", false},
	{PanelSearch, "search the texts of all sessions", "ctrl+f", false},
	{PanelFork, "continue in a copy of the session", "ctrl+o", false},
	{PanelExport, "save the session as an archive", "alt+x", false},
	{PanelRemove, "delete the session, stop the agent or the command, remove the rule or forget the note", "ctrl+x", false},
	{PanelMessage, "send the agent a message", "alt+s", false},
	{PanelEdit, "edit the plan", "alt+e", false},
	{PanelSend, "send the edited plan", "ctrl+s", true},
}
