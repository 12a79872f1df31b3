//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/reins-agent/reins/bench/internal/process"
	"github.com/reins-agent/reins/internal/tui/tuitest"
)

// key is what is typed where a paint is measured. Nothing else on the screen contains it.
const key = "Ж"

// patience is how long to wait for what should happen at once.
const patience = 30 * time.Second

// begin starts the program and waits until it shows a typed key, which is erased again. It returns the time from the start
// to the paint.
func (t *trial) begin(resume bool) (time.Duration, bool) {
	if !t.open(resume) {
		return 0, false
	}
	painted := t.s.expect(func(e *tuitest.Emulator) bool { return count(e, key) > 0 })
	typed := 0
	again := time.NewTicker(10 * time.Millisecond) // some programs drop what is typed early
	defer again.Stop()
	for end := time.After(2 * patience); ; typed++ {
		t.s.press(key)
		select {
		case at := <-painted:
			t.s.quiet(300*time.Millisecond, 5*time.Second)
			t.s.press(strings.Repeat(t.peer.keys.erase, typed+1))
			t.s.until(5*time.Second, func(e *tuitest.Emulator) bool { return count(e, key) == 0 })
			t.s.quiet(300*time.Millisecond, 5*time.Second)
			return at.Sub(t.s.start), true
		case <-t.s.exited:
			t.fail("start", "it has exited")
			return 0, false
		case <-end:
			t.fail("start", "no typed key was seen")
			return 0, false
		case <-again.C:
		}
	}
}

// start measures the start and an idle program.
func start(t *trial) {
	took, ok := t.begin(false)
	if !ok {
		return
	}
	t.ms("start → typed key seen", took)
	pid := t.s.cmd.Process.Pid
	t.put("memory at start, process tree", "%.0f MB", float64(process.Used(pid).Memory)/1e6)
	time.Sleep(3 * time.Second)
	before, bytes := process.Used(pid), t.s.sent()
	const idle = 10 * time.Second
	time.Sleep(idle)
	after := process.Used(pid)
	t.put("idle 10 s: bytes", "%.0f", float64(t.s.sent()-bytes))
	t.put("idle 10 s: CPU", "%.2f %%", 100*float64(after.CPU-before.CPU)/float64(idle))
	t.put("idle 10 s: switches per s", "%.1f", float64(after.Switches-before.Switches)/idle.Seconds())
	t.paints("key → paint, idle")
}

// samples is how many keys a row measures. The 99th percentile of fewer than 100 would be the slowest.
const samples = 200

// paints measures the time from a key to its paint.
func (t *trial) paints(row string) {
	var list []time.Duration
	for i := range samples {
		time.Sleep(time.Duration(60+i*7%40) * time.Millisecond)
		t.s.mu.Lock()
		n := count(t.s.emu, key)
		t.s.mu.Unlock()
		painted := t.s.expect(func(e *tuitest.Emulator) bool { return count(e, key) > n })
		at := time.Now()
		t.s.press(key)
		select {
		case seen := <-painted:
			list = append(list, seen.Sub(at))
		case <-time.After(5 * time.Second):
			t.fail(row+" p50", "a key was not painted in 5 s")
			return
		}
		time.Sleep(20 * time.Millisecond)
		t.s.press(t.peer.keys.erase)
		t.s.until(5*time.Second, func(e *tuitest.Emulator) bool { return count(e, key) <= n })
	}
	slices.Sort(list)
	t.ms(row+" p50", list[len(list)/2])
	t.ms(row+" p99", list[len(list)*99/100])
}

// ask types a prompt and waits for its request.
func (t *trial) ask(prompt string) (call, bool) {
	t.s.press(prompt)
	t.s.quiet(100*time.Millisecond, 2*time.Second)
	t.s.press(t.peer.keys.send)
	return t.server.until(func(calls []*call) bool { return len(calls) > 0 }, patience)
}

// markdown returns an answer of a number of tokens, about six bytes each.
func markdown(tokens int) []string {
	words := strings.Fields("some words of plain text that a model wrote about files and tests in order to explain them")
	list := make([]string, tokens)
	for i := range list {
		switch {
		case i%60 == 59:
			list[i] = ".\n\n"
		case i%97 == 0:
			list[i] = "`code` "
		case i%131 == 0:
			list[i] = "\n- item "
		default:
			list[i] = words[i*7%len(words)] + " "
		}
	}
	return list
}

const gap = time.Second / 60

// stream measures an answer that arrives at 60 tokens a second.
func stream(t *trial) {
	if _, ok := t.begin(false); !ok {
		return
	}
	const tokens = 600
	t.server.play(answer{pieces: markdown(tokens), gap: gap})
	if _, ok := t.ask("Begin"); !ok {
		t.fail("bytes per streamed token", "no request")
		return
	}
	t.server.until(func(calls []*call) bool { return !calls[0].began.IsZero() }, patience)
	pid := t.s.cmd.Process.Pid
	before, bytes, began := process.Used(pid), t.s.sent(), time.Now()
	t.server.until(func(calls []*call) bool { return !calls[0].ended.IsZero() }, patience)
	after := process.Used(pid)
	t.put("bytes per streamed token", "%.0f", float64(t.s.sent()-bytes)/tokens)
	t.put("CPU while streaming 60 tokens/s", "%.1f %%", 100*float64(after.CPU-before.CPU)/float64(time.Since(began)))
	t.s.quiet(500*time.Millisecond, 5*time.Second)
	t.streaming("key → paint, streaming")
}

// streaming measures key paints while an answer arrives.
func (t *trial) streaming(row string) {
	t.server.play(answer{pieces: markdown(60 * 600), gap: gap})
	if _, ok := t.ask("Go on"); !ok {
		t.fail(row+" p50", "no request")
		return
	}
	t.server.until(func(calls []*call) bool { return !calls[0].began.IsZero() }, patience)
	time.Sleep(time.Second)
	t.paints(row)
	t.s.press(t.peer.keys.interrupt)
	time.Sleep(100 * time.Millisecond)
}

// paste measures a large paste.
func paste(t *trial) {
	if _, ok := t.begin(false); !ok {
		return
	}
	const line = "pasted text that is as long as a line of a log file often is 0123456789 0123456789 0123456789 0123\r"
	text := strings.Repeat(line, 1_000_000/len(line))
	t.server.play(answer{pieces: []string{"ok"}})
	painted := t.s.expect(func(e *tuitest.Emulator) bool { return count(e, key) > 0 })
	at := time.Now()
	go t.s.press("\x1b[200~" + text + "\x1b[201~" + key)
	select {
	case seen := <-painted:
		t.ms("1 MB paste: ready", seen.Sub(at))
	case <-time.After(patience):
		t.fail("1 MB paste: ready", "not in 30 s")
		return
	}
	t.s.quiet(time.Second, 5*time.Second)
	at = time.Now()
	t.s.press(t.peer.keys.send)
	c, ok := t.server.until(func(calls []*call) bool { return len(calls) > 0 }, patience)
	switch want := len(text) / len(line); {
	case !ok:
		t.fail("1 MB paste: to the request", "no request")
	case bytes.Count(c.body, []byte("pasted text")) < want:
		t.fail("1 MB paste: to the request", fmt.Sprintf("%d of %d lines arrived", bytes.Count(c.body, []byte("pasted text")), want))
	default:
		t.ms("1 MB paste: to the request", c.arrived.Sub(at))
	}
}

// interrupt measures the time until a request is gone.
func interrupt(t *trial) {
	const row = "Esc → the request is gone"
	if _, ok := t.begin(false); !ok {
		return
	}
	t.server.play(answer{pieces: markdown(60 * 600), gap: gap})
	if _, ok := t.ask("Begin"); !ok {
		t.fail(row, "no request")
		return
	}
	t.server.until(func(calls []*call) bool { return !calls[0].began.IsZero() }, patience)
	time.Sleep(time.Second)
	for presses := 1; presses <= 2; presses++ {
		at := time.Now()
		t.s.press(t.peer.keys.interrupt)
		c, ok := t.server.until(func(calls []*call) bool { return !calls[0].canceled.IsZero() }, 3*time.Second)
		if ok && presses == 1 {
			t.ms(row, c.canceled.Sub(at))
			return
		} else if ok {
			t.say(row, fmt.Sprintf("%d presses", presses))
			return
		}
	}
	t.fail(row, "never")
}

// stray types 20 keys a second while an approval is asked for.
func stray(t *trial) {
	const row = "20 keys/s across an approval"
	if t.peer.asks == "" {
		t.say(row, "asks nothing")
		return
	}
	if _, ok := t.begin(false); !ok {
		return
	}
	file := filepath.Join(t.place.work, "answered")
	t.server.play(answer{tool: t.peer.tool, args: t.peer.toolArgs("touch " + file)})
	t.server.next(answer{pieces: []string{"Done."}})
	if _, ok := t.ask("Begin"); !ok {
		t.fail(row, "no request")
		return
	}
	asked := t.s.expect(has(t.peer.asks))
	draft := strings.Repeat("y1ap", 20)
	for _, c := range draft {
		t.s.press(string(c))
		time.Sleep(time.Second / 20)
	}
	select {
	case <-asked:
	case <-time.After(10 * time.Second):
		t.fail(row, "did not ask")
		return
	}
	time.Sleep(time.Second)
	t.server.mu.Lock()
	answers := len(t.server.calls) - 1
	t.server.mu.Unlock()
	words := "0 answers"
	if _, err := os.Stat(file); err == nil {
		words = "approved"
	} else if answers > 0 {
		words = "answered"
	}
	t.s.press(t.peer.keys.interrupt) // refuses
	t.s.quiet(300*time.Millisecond, 5*time.Second)
	if strings.Contains(t.s.text(), draft) {
		words += ", draft whole"
	} else {
		words += ", draft not whole"
	}
	t.fail(row, words)
}

// signals ends the program with signals and looks at the terminal that it leaves.
func signals(t *trial) {
	for _, way := range []struct {
		name  string
		list  []syscall.Signal
		pause time.Duration
	}{
		{"TERM", []syscall.Signal{syscall.SIGTERM}, 0},
		{"HUP", []syscall.Signal{syscall.SIGHUP}, 0},
		{"INT×2", []syscall.Signal{syscall.SIGINT, syscall.SIGINT}, 300 * time.Millisecond},
		{"QUIT", []syscall.Signal{syscall.SIGQUIT}, 0},
		{"KILL", []syscall.Signal{syscall.SIGKILL}, 0},
	} {
		row := "modes left on after " + way.name
		if _, ok := t.begin(false); !ok {
			return
		}
		pids := process.Tree(t.s.cmd.Process.Pid)
		for _, sig := range way.list {
			_ = syscall.Kill(pids[0], sig)
			time.Sleep(way.pause)
		}
		select {
		case <-t.s.exited:
			time.Sleep(time.Second) // a process that restores the terminal may need it
		case <-time.After(5 * time.Second):
			t.fail(row, "does not end")
			continue
		}
		words := "none"
		if left := t.s.left(); len(left) > 0 {
			words = strings.Join(left, " ")
		}
		for _, pid := range pids {
			if process.Alive(pid) {
				words += ", a process stays"
				_ = syscall.Kill(pid, syscall.SIGKILL)
				break
			}
		}
		t.say(row, words)
	}
}

// hostile are control sequences that no program has a reason to send, and what they are.
var hostile = []struct{ name, sequence string }{
	{"OSC 52", "\x1b]52;c;ZXZpbA==\x07"},
	{"title", "\x1b]0;evil-title\x07"},
	{"mode", "\x1b[?9901h"},
	{"CSI", "\x1b[97;98;99z"},
	{"DCS", "\x1bPevil\x1b\\"},
	{"APC", "\x1b_evil\x1b\\"},
	{"C1", "\u009b97;98z"},
	{"tag characters", "\U000E0041\U000E0042"},
	{"direction", "\u202eevil"},
	{"OSC 8", "\x1b]8;;http://evil.example/\x07link\x1b]8;;\x07"},
}

// escapes has the model write control sequences, and run a command whose output and whose file names contain them.
func escapes(t *trial) {
	if _, ok := t.begin(false); !ok {
		return
	}
	text := ""
	for _, h := range hostile {
		text += "before " + h.sequence + " after\n\n"
	}
	t.server.play(answer{pieces: []string{text, "\n\nEnd of the evil."}})
	t.passed("raw control sequences from model text", "Begin", "End of the evil.")
	evil := filepath.Join(t.place.work, "evil")
	if err := os.Mkdir(evil, 0o755); err != nil {
		t.fail("raw control sequences from output and file names", err.Error())
		return
	}
	for i, h := range hostile {
		name := fmt.Sprintf("%d %s", i, strings.ReplaceAll(h.sequence, "/", "_"))
		_ = os.WriteFile(filepath.Join(evil, name), []byte(text), 0o644)
	}
	t.server.play(answer{tool: t.peer.tool, args: t.peer.toolArgs("ls evil; cat evil/1*")})
	t.server.next(answer{pieces: []string{"That was evil."}})
	t.passed("raw control sequences from output and file names", "Look", "That was evil.")
}

// passed submits a prompt, agrees to what is asked until the end is shown, and says which sequences reached the terminal.
func (t *trial) passed(row, prompt, end string) {
	t.s.record(true)
	defer t.s.record(false)
	shown := t.s.expect(has(end))
	if _, ok := t.ask(prompt); !ok {
		t.fail(row, "no request")
		return
	}
	for waiting := time.After(patience); ; {
		select {
		case <-shown:
		case <-waiting:
			t.fail(row, "the end was not shown")
			return
		case <-time.After(2 * time.Second):
			if t.peer.asks != "" && strings.Contains(t.s.text(), t.peer.asks) {
				t.s.press(t.peer.keys.allow)
			}
			continue
		}
		break
	}
	t.s.quiet(300*time.Millisecond, 5*time.Second)
	raw := t.s.recorded()
	var list []string
	for _, h := range hostile {
		if strings.Contains(raw, h.sequence) {
			list = append(list, h.name)
		}
	}
	if len(list) == 0 {
		list = []string{"none"}
	}
	t.say(row, strings.Join(list, ", "))
}

// What tells the ends of the long session.
const (
	firstLine = "line 0 of the long session"
	lastLine  = "Nothing is left to be said."
)

// long measures a session with many lines.
func long(t *trial) {
	if _, ok := t.begin(false); !ok {
		return
	}
	const perAnswer = 5000
	began := time.Now()
	for n := range t.lines / perAnswer {
		if !t.grow(n, perAnswer) {
			t.fail("grow", fmt.Sprintf("answer %d was not shown", n))
			return
		}
		if time.Since(began) > 5*time.Minute {
			t.say("memory after growing", fmt.Sprintf("%d lines in 5 min", (n+1)*perAnswer))
			return
		}
	}
	pid := t.s.cmd.Process.Pid
	t.put("memory after growing", "%.0f MB", float64(process.Used(pid).Memory)/1e6)
	t.paints("key → paint, long session")
	t.streaming("key → paint, long session, streaming")
	if t.peer.resume == nil {
		return
	}
	t.server.play(answer{pieces: []string{lastLine}})
	if _, ok := t.ask("And now"); !ok {
		t.fail("reopen", "no last answer")
		return
	}
	t.s.until(patience, has(lastLine))
	t.s.quiet(300*time.Millisecond, 5*time.Second)
	t.stop()
	if took, ok := t.reopen(); ok {
		t.ms("reopen", took)
		t.s.quiet(500*time.Millisecond, 10*time.Second)
		t.put("memory after reopening", "%.0f MB", float64(process.Used(t.s.cmd.Process.Pid).Memory)/1e6)
		t.top()
	}
}

// grow adds an answer with many lines, and waits until its end is shown.
func (t *trial) grow(n, lines int) bool {
	var pieces []string
	for i := range lines {
		pieces = append(pieces, fmt.Sprintf("line %d of the long session\n", n*lines+i))
	}
	end := fmt.Sprintf("End of answer %d.", n)
	pieces = append(append([]string{"```\n"}, pieces...), "```\n\n"+end)
	t.server.play(answer{pieces: pieces})
	if _, ok := t.ask(fmt.Sprintf("Prompt %d", n)); !ok {
		return false
	}
	_, ok := t.s.until(2*time.Minute, has(end))
	t.s.quiet(300*time.Millisecond, 20*time.Second)
	return ok
}

// reopen starts the program with the saved session, and returns the time until its end and a typed key are shown.
func (t *trial) reopen() (time.Duration, bool) {
	if !t.open(true) {
		return 0, false
	}
	at, ok := t.s.until(2*time.Minute, has(lastLine))
	if !ok {
		t.fail("reopen", "the end was not shown in 2 min")
	}
	return at.Sub(t.s.start), ok
}

// top goes to the first line of the session.
func (t *trial) top() {
	const row = "line 0 reachable"
	first := has(firstLine)
	if t.peer.keys.top != "" {
		at := time.Now()
		t.s.press(t.peer.keys.top)
		if seen, ok := t.s.until(20*time.Second, first); ok {
			t.ms(row, seen.Sub(at))
			return
		}
	}
	seen := t.s.expect(first)
	t.s.mu.Lock()
	history := slices.ContainsFunc(t.s.emu.History, func(l string) bool { return strings.Contains(l, firstLine) })
	t.s.mu.Unlock()
	if history {
		t.say(row, "in the terminal's own history")
		return
	}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		t.s.press(t.peer.keys.pageUp)
		select {
		case <-seen:
			t.say(row, "by paging")
			return
		default:
		}
	}
	t.fail(row, "not in 20 s of paging")
}
