package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/keyboard"
	"github.com/reins-agent/reins/internal/realpath"
	"github.com/reins-agent/reins/internal/show"
	"github.com/reins-agent/reins/internal/watch"
)

const (
	maxTold         = 50 // files that the agent is told about
	maxListed       = 20 // comments or files that are listed for the user
	maxInstructions = 20 // comments in one prompt
)

// watchFlags are the flags of "reins run" that "reins watch" has too.
const watchFlags = "effort fallback append-system no-mcp mcp-config mode rules yes trust sandbox network writable continue resume " +
	"max-rounds budget quiet verbose"

// watchCommand holds the flags of "reins watch".
type watchCommand struct {
	run
	now bool
}

func newWatch(h Host) *cobra.Command {
	var o watchCommand
	cmd := &cobra.Command{
		Use:   "watch [flags] [PROMPT]",
		Short: "Run an agent when files change or ask for it",
		Long: `Watch the files in the current directory until interrupted.

Without PROMPT, a comment such as "// reins: handle the empty list" starts the
agent when the file is saved. Any comment syntax works. The agent is told the
file and the line, does what the comment asks, and removes it.

Only comments that are added while Reins watches, to a file that was there
before, start the agent. It lists comments that were there, came with a new file
or from git, such as a checkout, a pull or a merge, or that the agent wrote, but
does not follow them. Edit a listed comment to start the agent.

With PROMPT, the agent works on it each time files change.

All runs continue one session. What the agent changes itself, and files that git
ignores, start nothing.`,
		Example: `  reins watch
  reins watch --mode acceptEdits
  reins watch --yes "Run the tests of the changed packages and fix failures"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.wrong = errors.Join(o.level.check(), emptyFlag(cmd, "resume"))
			return o.do(cmd.Context(), h, strings.TrimSpace(strings.Join(args, " ")))
		},
	}
	o.connection.flags(h, cmd)
	all := &cobra.Command{}
	o.flags(h, all)
	for name := range strings.FieldsSeq(watchFlags) {
		cmd.Flags().AddFlag(all.Flags().Lookup(name))
	}
	cmd.Flags().BoolVar(&o.now, "now", false, "also follow the comments that are there, or work on PROMPT, at the start")
	return cmd
}

// watcher runs an agent when files change.
type watcher struct {
	host   Host
	flags  run
	keys   *keyboard.Keyboard // of all runs, because a read from the terminal cannot be interrupted
	tree   *watch.Tree
	prompt string      // "" means that comments are the prompts
	files  watch.State // as far as they were noticed
	known  watch.Known // the comments in them, without prompt
}

func (o watchCommand) do(ctx context.Context, h Host, prompt string) error {
	if prompt == "-" {
		return usagef("\"reins watch\" cannot read the prompt from standard input; pass it as an argument")
	}
	if err := o.check(); err != nil {
		return err
	}
	dir, err := realpath.Dir(".")
	if err != nil {
		return err
	}
	if !isTerminal(h.Stdin) {
		h.Stdin = strings.NewReader("")
	}
	o.dir = dir
	w := &watcher{
		host:   h,
		flags:  o.run,
		keys:   newKeyboard(h),
		tree:   &watch.Tree{Dir: dir, Skip: skipState(h, dir)},
		prompt: prompt,
		known:  watch.Known{},
	}
	err = w.watch(ctx, o.now)
	if ctx.Err() != nil {
		return quietError{exitInterrupted}
	}
	return err
}

// skipState leaves out the state directory, which changes during runs.
func skipState(h Host, dir string) func(string) bool {
	state, err := stateDir(h)
	if err != nil {
		return nil
	}
	real := realpath.Resolve(string(state))
	return func(path string) bool { return filepath.Join(dir, filepath.FromSlash(path)) == real }
}

// watch runs the agent until an error or an interrupt.
func (w *watcher) watch(ctx context.Context, now bool) (err error) {
	if w.files, err = w.tree.Scan(ctx); err != nil {
		return usageError{err}
	}
	task := ""
	if w.prompt == "" {
		w.known.Update(w.tree, watch.Changed(nil, w.files))
		task = w.begin(now)
	} else if now {
		task = w.prompt
	}
	for began := false; ; began = true {
		if task != "" {
			if err := w.run(ctx, task); err != nil {
				return err
			}
		}
		if task != "" || !began {
			w.ready()
		}
		next, err := w.tree.Wait(ctx, w.files)
		if err != nil {
			return err
		}
		task = w.notice(ctx, next)
	}
}

// ready tells that the watcher waits.
func (w *watcher) ready() {
	hint := "a comment such as \"// reins: add a test\" starts the agent"
	if w.prompt != "" {
		hint = "a change starts the agent"
	}
	w.tell("watching %s; %s", show.Plural(len(w.files), "file"), hint)
}

// tell prints a note, unless the user wants only results.
func (w *watcher) tell(format string, args ...any) {
	if !w.flags.level.quiet {
		notef(w.host, format, args...)
	}
}

// placed is a comment in a file.
type placed struct {
	path string
	watch.Comment
}

func (p placed) String() string { return fmt.Sprintf("%s:%d: %s", p.path, p.Line, p.Text) }

// begin lists the comments that are there, or returns the task to follow them.
func (w *watcher) begin(now bool) string {
	var list []placed
	for _, path := range slices.Sorted(maps.Keys(w.known)) {
		for _, c := range w.known[path] {
			list = append(list, placed{path, c})
		}
	}
	if now {
		return w.follow(list)
	}
	for i, c := range list {
		if i == maxListed {
			w.tell("%d more comments were there before", len(list)-i)
			break
		}
		w.tell("not followed, because it was there before: %v", c)
	}
	return ""
}

// notice updates what is known to a new state of the files. It returns the task for the agent, or "".
func (w *watcher) notice(ctx context.Context, next watch.State) string {
	before := w.files
	changed := watch.Changed(before, next)
	w.files = next
	if w.prompt != "" {
		w.tell("changed: %s", some(changed, maxListed, show.OneLine))
		return w.prompt + w.about(changed)
	}
	had := w.known.Clone()
	w.known.Update(w.tree, changed)
	var list []placed
	for _, path := range changed {
		_, old := before[path]
		for _, c := range w.known.Added(had, path) {
			why := ""
			if !old {
				why = "it came with a new file"
			} else if why = w.brought(ctx, path, c.Text); why == "" {
				list = append(list, placed{path, c})
				continue
			}
			w.tell("not followed, because %s: %v", why, placed{path, c})
		}
	}
	return w.follow(list)
}

// some joins the first names of a list.
func some(list []string, most int, format func(string) string) string {
	var names []string
	for _, name := range list[:min(len(list), most)] {
		names = append(names, format(name))
	}
	text := strings.Join(names, ", ")
	if n := len(list) - len(names); n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// about tells the agent which files changed. A prompt that uses a skill has arguments of its own.
func (w *watcher) about(changed []string) string {
	if strings.HasPrefix(w.prompt, "/") {
		return ""
	}
	return "\n\n[These files changed: " + some(changed, maxTold, strconv.Quote) + "]"
}

// follow returns the task to do what comments ask.
func (w *watcher) follow(list []placed) string {
	if len(list) == 0 {
		return ""
	}
	if n := len(list) - maxInstructions; n > 0 {
		notef(w.host, "%d comments are left out: the agent gets %d at once", n, maxInstructions)
		list = list[:maxInstructions]
	}
	var b strings.Builder
	b.WriteString("Do what these comments in the project ask. A comment may continue on the following lines. " +
		"Remove each comment when you have done what it asks, and leave other comments alone.\n")
	for _, c := range list {
		w.tell("%v", c)
		fmt.Fprintf(&b, "\nfile %q, line %d: %s", c.path, c.Line, c.Text)
	}
	return b.String()
}

// run lets the agent work on a task, and then notes what it changed. It returns an error if watching makes no sense any
// more. Other failures were shown.
func (w *watcher) run(ctx context.Context, task string) error {
	text := newTextView(w.host)
	text.level = w.flags.level
	v := &tracingView{textView: text}
	r := newRunner(w.host, v, w.flags)
	r.asker.keys = w.keys
	if w.prompt != "" {
		r.words = w.prompt
	}
	err := r.run(ctx, []string{task})
	if id := v.id; id != "" {
		w.flags.resume, w.flags.continueLast = id, false
	}
	var code quietError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &code) && (code.code == exitUsage || code.code == exitAuth):
		return err
	case err != nil && !errors.As(err, &code):
		return err
	}
	return w.settle(ctx, v)
}

// settle takes note of what the agent changed, so that it starts nothing. What others changed meanwhile is noticed later.
func (w *watcher) settle(ctx context.Context, v *tracingView) error {
	now, err := w.tree.Scan(ctx)
	if err != nil {
		return err
	}
	had := w.known.Clone()
	var own, unsure []string
	for _, path := range watch.Changed(w.files, now) {
		wrote, certain := v.wrote(path)
		if !wrote {
			continue
		}
		own = append(own, path)
		if !certain {
			unsure = append(unsure, path)
		}
		if st, ok := now[path]; ok {
			w.files[path] = st
		} else {
			delete(w.files, path)
		}
	}
	if len(unsure) > 0 {
		w.tell("changed while the agent worked, perhaps by it: %s; save again to start the agent", some(unsure, maxListed, show.OneLine))
	}
	if w.prompt != "" {
		return nil
	}
	w.known.Update(w.tree, own)
	for _, path := range own {
		for _, c := range w.known.Added(had, path) {
			w.tell("not followed, because it appeared while the agent worked: %v", placed{path, c})
		}
	}
	return nil
}

// tracingView is a textView that also records what the agent changed.
type tracingView struct {
	*textView
	id string

	mu    sync.Mutex
	paths map[string]bool // what the agent changed; false means perhaps
	loose bool            // it may have changed any file
}

func (v *tracingView) finish(r result) error {
	v.id = r.SessionID
	return v.textView.finish(r)
}

func (v *tracingView) show(r event.Record) error {
	v.mu.Lock()
	switch d := r.Data.(type) {
	case event.Checkpoint: // there is one before the first call that may change files
		v.loose = v.loose || !d.After && (d.Error != "" || !d.Traced)
	case event.ToolCallEnd:
		v.loose = v.loose || d.Artifacts.Untraced != ""
		for _, w := range d.Artifacts.Wrote {
			if v.paths == nil {
				v.paths = map[string]bool{}
			}
			v.paths[w.Path] = v.paths[w.Path] || !w.Unsure
		}
	}
	v.mu.Unlock()
	return v.textView.show(r)
}

// wrote reports whether the agent may have changed a file, and whether that is certain.
func (v *tracingView) wrote(path string) (wrote, certain bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for p := path; p != "." && p != "/"; p = filepath.ToSlash(filepath.Dir(p)) {
		if certain, ok := v.paths[p]; ok {
			return true, certain
		}
	}
	return v.loose, false
}
