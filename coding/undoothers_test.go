//go:build unix

package coding_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/checkpoint"
	"github.com/reins-agent/reins/internal/thorough"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
)

// TestUndo_TwoSessionsAndAPersonInOneTree interleaves two sessions and a person at random: between the calls of a session
// and while its commands run, the others write, delete, undo and redo. A model of who wrote what checks each undo and
// redo: it changes only files that nobody else has changed meanwhile, and restores all that only the session changed.
func TestUndo_TwoSessionsAndAPersonInOneTree(t *testing.T) {
	for range thorough.Of(20, 1) {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) { newOffice(t, seed).work(30) })
	}
}

// office is a directory in which two sessions and a person work.
type office struct {
	t       *testing.T
	rng     *rand.Rand
	dir     string
	token   int
	desks   []*deskOf
	history map[string][]writing
	busy    map[string]bool // files that running commands name
	unclear []*input        // inputs with a running command that may write anything
	undone  int
	asked   int
}

// writing is a file change, by a session or, if that is nil, by the person.
type writing struct {
	by      *deskOf
	content string
	unclear map[*input]bool // the inputs that may seem to have made it
}

type deskOf struct {
	*worker
	working bool
	vague   bool // it ran commands that do not name what they write, or kept something
	done    []*input
	again   []*input // to redo
}

// input is what a session did for a prompt.
type input struct {
	start, undo map[string]int // history lengths when it started, and when it was undone
}

var officeFiles = []string{"a", "b", "c", "dir/d", "dir/e", "dir/sub/f", "g", "new/h", "new/i/j", "k"}

func newOffice(t *testing.T, seed uint64) *office {
	w := newWorker(t, checkpoint.Config{})
	o := &office{t: t, rng: rand.New(rand.NewPCG(seed, 1)), dir: w.dir, history: map[string][]writing{}, busy: map[string]bool{}}
	w.write("gen.sh", `if [ "$2" ]; then mkdir -p "$(dirname "$1")" && echo "$2" > "$1"; else rm -f "$1"; fi`+"\n")
	for _, d := range []*deskOf{{worker: w}, {worker: w.beside("second")}} {
		d.script.Reply = func(_ int, r *llm.Request) llmtest.Turn { return o.turn(d, r) }
		o.desks = append(o.desks, d)
	}
	return o
}

func (o *office) work(steps int) {
	for range steps {
		o.act(o.desks)
		if o.t.Failed() {
			return
		}
	}
	o.t.Logf("%d undos and redos, %d questions", o.undone, o.asked)
}

// act lets the person, or one of the sessions that are idle, do something.
func (o *office) act(desks []*deskOf) {
	idle := slices.DeleteFunc(slices.Clone(desks), func(d *deskOf) bool { return d.working })
	if i := o.rng.IntN(len(idle) + 1); i < len(idle) {
		d := idle[i]
		switch k := o.rng.IntN(10); {
		case k < 5:
			o.input(d)
		case k < 8:
			o.rewind(d, false)
		default:
			o.rewind(d, true)
		}
	} else {
		o.person()
	}
	o.check("after a step")
}

// pick returns a file that no running command names.
func (o *office) pick() string {
	for {
		if f := officeFiles[o.rng.IntN(len(officeFiles))]; !o.busy[f] {
			return f
		}
	}
}

func (o *office) content() string {
	o.token++
	return fmt.Sprintf("%d\n", o.token)
}

func (o *office) now(file string) string {
	if h := o.history[file]; len(h) > 0 {
		return h[len(h)-1].content
	}
	return ""
}

func (o *office) wrote(by *deskOf, file, content string) {
	o.t.Logf("%s writes %q to %s", by.name(), content, file)
	if o.now(file) == content {
		return
	}
	w := writing{by, content, map[*input]bool{}}
	for _, in := range o.unclear {
		w.unclear[in] = true
	}
	o.history[file] = append(o.history[file], w)
}

func (o *office) person() {
	file, path := o.pick(), ""
	path = filepath.Join(o.dir, file)
	if o.rng.IntN(4) == 0 && o.now(file) != "" {
		if err := os.Remove(path); err != nil {
			o.t.Fatal(err)
		}
		o.wrote(nil, file, "")
		return
	}
	text := o.content()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		o.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		o.t.Fatal(err)
	}
	o.wrote(nil, file, text)
}

// name identifies who writes.
func (d *deskOf) name() string {
	if d == nil {
		return "the person"
	}
	return d.config.ID
}

func (o *office) lengths() map[string]int {
	n := map[string]int{}
	for f, h := range o.history {
		n[f] = len(h)
	}
	return n
}

// input gives a session a prompt. Its model makes a few calls.
func (o *office) input(d *deskOf) {
	d.working = true
	d.done, d.again = append(d.done, &input{}), nil
	d.do("work")
	d.working = false
}

// turn is the next model turn in a session: another call, or the end.
func (o *office) turn(d *deskOf, r *llm.Request) llmtest.Turn {
	in := d.done[len(d.done)-1]
	if in.start != nil && o.rng.IntN(2) == 0 {
		o.act(o.desks)
	}
	if in.start != nil && o.rng.IntN(3) == 0 {
		return llmtest.Say("Done.")
	}
	if in.start == nil {
		in.start = o.lengths()
	}
	file := o.pick()
	text := o.content()
	switch o.rng.IntN(6) {
	case 0:
		o.wrote(d, file, text)
		args, _ := json.Marshal(map[string]string{"file_path": file, "content": text})
		return llmtest.Call("write_file", string(args))
	case 1:
		if o.now(file) == "" {
			return llmtest.Call("shell", `{"command":"true"}`)
		}
		o.wrote(d, file, "")
		return llmtest.Call("delete_file", fmt.Sprintf(`{"path":%q}`, file))
	case 2, 3, 4:
		o.busy[file] = true
		line := fmt.Sprintf("mkdir -p %s; printf '%s\\n' > %s", filepath.Dir(file), text[:len(text)-1], file)
		return o.command(d, line, func() { delete(o.busy, file); o.wrote(d, file, text) })
	}
	d.vague = true
	o.unclear = append(o.unclear, in)
	return o.command(d, fmt.Sprintf("sh gen.sh %s %s", file, text[:len(text)-1]), func() {
		o.wrote(d, file, text)
		o.unclear = slices.DeleteFunc(o.unclear, func(other *input) bool { return other == in })
	})
}

// command returns a call that waits while the others act.
func (o *office) command(d *deskOf, line string, then func()) llmtest.Turn {
	at, acts := d.signals(), o.rng.IntN(3)
	go at.meanwhile(func() {
		for range acts {
			o.act(o.desks)
		}
		then()
	})
	args, _ := json.Marshal(map[string]string{"command": at.wait(line)})
	return llmtest.Call("shell", string(args))
}

// rewind undoes a session's last input, or redoes it.
func (o *office) rewind(d *deskOf, redo bool) {
	from, to := &d.done, &d.again
	if redo {
		from, to = to, from
	}
	if len(*from) == 0 || len(o.busy) > 0 {
		return
	}
	in := (*from)[len(*from)-1]
	since := in.start
	if redo {
		since = in.undo
	}
	before := o.lengths()
	do := func() (agent.Undone, error) {
		if redo {
			return d.session.Redo(o.t.Context())
		}
		return d.session.Undo(o.t.Context(), agent.Parts{Chat: true, Files: true})
	}
	o.undone++
	u, err := do()
	o.t.Logf("%s rewinds (redo: %v): changed %v, kept %v, %v", d.name(), redo, u.Changed, u.Kept, err)
	var later *checkpoint.LaterError
	if errors.As(err, &later) {
		o.asked++
		o.check("after a question")
		if o.plain(d, in, since) {
			o.t.Errorf("it asks about %v, but nobody else changed anything that the session did", later)
		}
		if o.rng.IntN(2) == 0 {
			return
		}
		d.later, d.vague = checkpoint.Keep, true
		u, err = do()
		d.later = checkpoint.Refuse
	}
	if err != nil {
		o.t.Fatal(err)
	}
	*from, *to = (*from)[:len(*from)-1], append(*to, in)
	o.restored(d, in, u, since, redo)
	if in.undo = before; redo {
		in.undo = nil
	}
}

// since returns a file's content when its history had some length, and what was written since.
func (o *office) since(file string, at map[string]int) (content string, later []writing) {
	h, n := o.history[file], at[file]
	if n > 0 {
		content = h[n-1].content
	}
	return content, h[min(n, len(h)):]
}

// mixed reports whether others changed a file since, apart from changes that were reverted before the session went on.
func (o *office) mixed(d *deskOf, in *input, file string, at map[string]int) (mixed, mine bool) {
	was, later := o.since(file, at)
	now := was
	for _, w := range later {
		if w.by == d {
			mixed, mine = mixed || now != was || w.unclear[in], true
			was = w.content
		}
		now = w.content
	}
	return mixed || now != was, mine
}

// plain reports whether no file was changed both by a session and by others since, as far as the session can tell.
func (o *office) plain(d *deskOf, in *input, at map[string]int) bool {
	for _, file := range officeFiles {
		if mixed, mine := o.mixed(d, in, file, at); mixed && mine {
			return false
		}
	}
	return !d.vague
}

// restored checks what an undo or redo did, and applies it to the history.
func (o *office) restored(d *deskOf, in *input, u agent.Undone, at map[string]int, redo bool) {
	for _, file := range officeFiles {
		want, _ := o.since(file, at)
		mixed, mine := o.mixed(d, in, file, at)
		changed := slices.Contains(u.Changed, file)
		switch {
		case changed && mixed:
			_, later := o.since(file, at)
			o.t.Errorf("%s changed, although others changed it since: %+v", file, later)
		case !changed && mine && !mixed && !d.vague && o.now(file) != want:
			o.t.Errorf("%s is %q, but only the session changed it since it was %q", file, o.now(file), want)
		case changed:
			o.wrote(d, file, want)
		}
	}
	o.check("after an undo or redo")
}

// check compares the files with what was written last.
func (o *office) check(when string) {
	o.t.Helper()
	got, want := map[string]string{}, map[string]string{}
	for _, f := range officeFiles {
		if o.busy[f] || len(o.unclear) > 0 {
			continue
		}
		b, err := os.ReadFile(filepath.Join(o.dir, f))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			o.t.Fatal(err)
		}
		got[f], want[f] = string(b), o.now(f)
	}
	if !maps.Equal(got, want) {
		o.t.Fatalf("%s the files are %q, want %q", when, got, want)
	}
}
