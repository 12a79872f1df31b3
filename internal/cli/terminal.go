package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/reins-agent/reins/config"
	"github.com/reins-agent/reins/internal/gitdir"
	"github.com/reins-agent/reins/internal/realpath"
	"github.com/reins-agent/reins/internal/suggest"
	"github.com/reins-agent/reins/internal/tui"
	"github.com/reins-agent/reins/internal/tui/keys"
	"github.com/reins-agent/reins/internal/tui/panel"
	"github.com/reins-agent/reins/internal/tui/theme"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/session"
)

// interactive holds the flags of "reins" without a command.
type interactive struct {
	run
	inline, plain bool
	choose        bool // a session
}

// chosen is the value of --resume without an ID.
const chosen = "choose"

// faceFlags are the flags of "reins run" that "reins" has too.
var faceFlags = []string{"provider", "model", "effort", "mode", "sandbox", "network", "cwd", "trust", "no-mcp", "continue", "budget"}

// flags adds the flags to the root command. The other flags of "reins run" have their defaults.
func (f *interactive) flags(h Host, root *cobra.Command) {
	all := &cobra.Command{}
	f.connection.flags(h, all)
	f.run.flags(h, all)
	flags := root.Flags()
	for _, name := range faceFlags {
		flags.AddFlag(all.Flags().Lookup(name))
	}
	f.connection.parsed = flags
	flags.StringVar(&f.resume, "resume", "", "continue the session `ID`, or choose one")
	flags.Lookup("resume").NoOptDefVal = chosen
	flags.BoolVar(&f.inline, "inline", false, "use the terminal's own history instead of the alternate screen")
	flags.BoolVar(&f.plain, "plain", false, "print lines only: for screen readers and simple terminals")
}

// start runs "reins" without a command. Without a terminal it prints the help.
func (f *interactive) start(cmd *cobra.Command, h Host, args []string) error {
	if f.resume == chosen {
		f.choose, f.resume = true, ""
		if len(args) > 0 && !strings.ContainsAny(args[0], " \n") {
			f.choose, f.resume, args = false, args[0], args[1:]
		}
	}
	dashed := cmd.ArgsLenAtDash() >= 0
	prompt := strings.Join(args, " ")
	switch {
	case len(args) > 0 && !dashed && !strings.ContainsAny(args[0], " \n"): // a command that does not exist
		return unknownCommand(cmd, args[0])
	case f.plain || hasScreen(h) && h.Getenv("TERM") == "dumb":
		return f.lines(cmd.Context(), h, prompt)
	case !hasScreen(h):
		return f.offScreen(cmd, args)
	}
	return f.show(cmd.Context(), h, prompt)
}

// hasScreen reports whether the program has a terminal to draw on.
func hasScreen(h Host) bool { return isTerminal(h.Stdin) && isTerminal(h.Stdout) }

// offScreen tells what to do without a terminal.
func (f *interactive) offScreen(cmd *cobra.Command, args []string) error {
	given := false
	for _, name := range append([]string{"inline", "plain", "resume"}, faceFlags...) {
		given = given || cmd.Flags().Changed(name)
	}
	if given || len(args) > 0 {
		return usagef("there is no terminal: use \"reins run\" in scripts and pipes")
	}
	return cmd.Help()
}

// show shows the session that the flags name.
func (f *interactive) show(ctx context.Context, h Host, prompt string) error {
	w := newWindow(h, f.run)
	w.given, w.flags.asksLater = prompt, true
	o, err := w.options()
	if err != nil {
		return err
	}
	o.Prompt, o.Inline = prompt, f.inline
	if f.choose {
		o.Choose = true
	}
	return runWindow(ctx, o)
}

// runWindow runs the application.
func runWindow(ctx context.Context, o tui.Options) error {
	err := tui.Run(context.WithoutCancel(ctx), o) // signals arrive as terminal events
	if errors.Is(err, tui.ErrSignal) {
		return quietError{exitInterrupted}
	}
	return err
}

// showHandle shows a session of another process.
func showHandle(ctx context.Context, h Host, s session.Handle) error {
	w := newWindow(h, run{})
	o, err := w.options()
	if err != nil {
		return err
	}
	o.First = func(context.Context) (session.Handle, error) { return s, nil }
	o.Open = nil
	return runWindow(ctx, o)
}

// window opens the sessions that the application shows.
type window struct {
	host  Host
	flags run
	given string
	notes *tui.Notes

	mu     sync.Mutex
	shown  *opener // the last one
	settle func()  // what it asks; see [opener.decide]
}

func newWindow(h Host, flags run) *window {
	w := &window{host: h, flags: flags, notes: new(tui.Notes)}
	w.host.Stderr, w.host.Stdout, w.host.Stdin = w.notes, w.notes, strings.NewReader("")
	return w
}

// options returns the application options.
func (w *window) options() (tui.Options, error) {
	dir, err := realpath.Dir(cmp.Or(w.flags.dir, "."))
	if err != nil {
		return tui.Options{}, usageError{err}
	}
	o := tui.Options{
		First:   w.first,
		Open:    w.open,
		Start:   w.start,
		Use:     w.use,
		Dir:     dir,
		In:      os.Stdin,
		Out:     os.Stdout,
		Getenv:  w.host.Getenv,
		Facts:   w.facts,
		Notes:   w.notes,
		Welcome: w.welcome(dir),
		Exit:    os.Exit,
	}
	if sessions, err := openSessions(w.host); err == nil {
		o.Manager = sessions
	}
	if state, err := stateDir(w.host); err == nil {
		if dir, err := state.Input(o.Dir); err == nil {
			o.History, o.Drafts = filepath.Join(dir, "history"), filepath.Join(dir, "drafts")
			sent, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), "*", filepath.Base(o.History)))
			o.Welcome.Tour = len(sent) == 0 // in any directory
		}
	}
	w.look(&o)
	o.Keys = w.keymap()
	return o, nil
}

// look applies the user's settings for the application. A project has no say in them. Mistakes in the settings are shown
// when the session is opened.
func (w *window) look(o *tui.Options) {
	o.Theme = w.host.Getenv("REINS_THEME")
	settings, err := config.Load(config.Sources{Getenv: w.host.Getenv, SystemDir: w.host.systemDir})
	if err == nil {
		t := settings.Terminal
		o.Theme, o.StatusCommand, o.NoImages = t.Theme, t.StatusCommand, t.Images == "off"
		if len(t.Status) > 0 {
			o.Status = t.Status
		}
	}
	if o.Theme == "" || slices.Contains(theme.Names(), o.Theme) {
		return
	}
	if o.Colors, err = w.colors(o.Theme); err != nil {
		w.tell(err.Error())
		o.Theme = ""
		return
	}
	w.tell(o.Colors.Notes...)
}

// colors reads a user theme.
func (w *window) colors(name string) (*theme.File, error) {
	unknown := fmt.Errorf("unknown theme %q; use %s, or a file in the themes directory next to your config.toml",
		name, suggest.Or(theme.Names()))
	if filepath.Base(name) != name || strings.HasPrefix(name, ".") {
		return nil, unknown
	}
	file, data, err := w.own(filepath.Join("themes", name+".toml"))
	switch {
	case err != nil:
		return nil, err
	case data == nil:
		return nil, unknown
	}
	return theme.Read(file, data)
}

// keymap reads the user's keymap file. With mistakes in it, the default keys apply.
func (w *window) keymap() *keys.Map {
	file, data, err := w.own("keys.toml")
	if err == nil && data != nil {
		var m *keys.Map
		if m, err = keys.Read(file, data); err == nil {
			w.tell(m.Notes...)
			return m
		}
	}
	if err != nil {
		w.tell(err.Error())
	}
	return keys.Default()
}

// own reads a file next to the user's configuration, and returns its name for messages. Without the file, data is nil.
func (w *window) own(path string) (name string, data []byte, err error) {
	file, err := w.host.configFile(config.LayerUser)
	if err != nil {
		return "", nil, nil // no directory for user files
	}
	path = filepath.Join(filepath.Dir(file.Path), path)
	data, err = os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil, nil
	}
	return shortDir(w.host, path), data, err
}

// tell shows remarks above the draft.
func (w *window) tell(lines ...string) {
	for _, l := range lines {
		fmt.Fprintln(w.notes, l)
	}
}

// first opens the session that the flags name, or a new one.
func (w *window) first(ctx context.Context) (session.Handle, error) { return w.with(ctx, w.flags) }

// open opens another session; "" is a new one.
func (w *window) open(ctx context.Context, id string) (session.Handle, error) {
	flags := w.flags
	flags.resume, flags.continueLast, flags.fork, flags.id = id, false, "", ""
	if id != "" {
		flags.dir = "" // the session's
	}
	return w.with(ctx, flags)
}

func (w *window) with(ctx context.Context, flags run) (session.Handle, error) {
	if w.settle != nil {
		w.settle()
		w.settle = nil
	}
	o := newOpener(w.host, flags)
	o.given = w.given
	s, err := o.open(ctx)
	if err != nil {
		return nil, err
	}
	if flags.asksLater {
		w.settle = o.decide(ctx, s.Local)
	}
	w.mu.Lock()
	w.shown = o
	w.mu.Unlock()
	return s, nil
}

// start returns what to offer if a session cannot be opened without a model.
func (w *window) start(err error) *panel.Start {
	if kind := llm.KindOf(err); kind != llm.ErrConfiguration && kind != llm.ErrAuthentication {
		return nil
	}
	conf, failed := w.host.providerConfig(connection{})
	if failed != nil {
		return nil
	}
	return &panel.Start{Problem: oneLine(err), Providers: conf.List(), Local: w.host.search.Local}
}

// use opens a new session with a provider and a model.
func (w *window) use(ctx context.Context, provider, model string) (session.Handle, error) {
	w.flags.provider, w.flags.model = provider, model
	for name, value := range map[string]string{"provider": provider, "model": model} {
		if err := w.flags.parsed.Set(name, value); value != "" && err != nil {
			return nil, err
		}
	}
	return w.open(ctx, "")
}

// welcome returns the greeting for an empty session.
func (w *window) welcome(dir string) tui.Welcome {
	return tui.Welcome{Title: "reins " + version(), Lines: []string{shortDir(w.host, dir)}}
}

// facts tells where the session works: the branch, the sandbox, the network.
func (w *window) facts(i session.Info) []tui.Fact {
	w.mu.Lock()
	o := w.shown
	w.mu.Unlock()
	list := []tui.Fact{{Name: "branch", Text: branch(i.Dir)}}
	if o == nil || o.flags.project == nil {
		return list
	}
	box := o.box
	switch {
	case box.Mode == "":
		list = append(list, tui.Fact{Name: "sandbox", Text: "no sandbox", Warn: true})
	default:
		list = append(list, tui.Fact{Name: "sandbox", Text: string(box.Mode)})
	}
	switch {
	case box.Network || box.Mode == "":
		list = append(list, tui.Fact{Name: "network", Text: "network"})
	case len(box.Hosts) > 0:
		list = append(list, tui.Fact{Name: "network", Text: fmt.Sprintf("network to %d hosts", len(box.Hosts))})
	default:
		list = append(list, tui.Fact{Name: "network", Text: "no network"})
	}
	return list
}

// branch returns a directory's git branch, or "".
func branch(dir string) string {
	_, repo, err := gitdir.Find(gitdir.Host, dir)
	if err != nil {
		return ""
	}
	head, err := os.ReadFile(filepath.Join(repo.Dir, "HEAD"))
	if err != nil || len(head) > 4096 {
		return ""
	}
	name, ok := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: refs/heads/")
	if !ok {
		return name[:min(len(name), 7)]
	}
	return name
}
