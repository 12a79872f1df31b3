package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// asker asks the user on the terminal: whether a call may run, and what the agent wants to know.
type asker struct {
	host Host
	view view

	asking  sync.Mutex // held while a question waits for its answer
	in      *bufio.Reader
	typed   chan string // gets the line that is being read, and is closed at the end of the input
	reading bool        // a line is being read
	all     bool        // everything is approved

	mu      sync.Mutex
	refused []string                 // what there was nobody to ask about
	arrived map[string]chan struct{} // closed when the view has got to a call's question
}

// nobody reports whether there is nobody to ask.
func (a *asker) nobody() bool { return !isTerminal(a.host.Stdin) || !isTerminal(a.host.Stderr) }

// unanswered lists what was refused because there was nobody to ask.
func (a *asker) unanswered() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.refused
}

// arrival is closed when everything that happened before a call's question was shown.
func (a *asker) arrival(id string) chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.arrived == nil {
		a.arrived = make(map[string]chan struct{})
	}
	if a.arrived[id] == nil {
		a.arrived[id] = make(chan struct{})
	}
	return a.arrived[id]
}

// arrive says that the view has got to a call's question.
func (a *asker) arrive(id string) {
	select {
	case <-a.arrival(id): // a call of another agent had the same id
	default:
		close(a.arrival(id))
	}
}

// refuse is the answer where there is nobody to give one.
func (a *asker) refuse(r tool.Request, why string) tool.Approval {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refused = append(a.refused, r.Spec.Name+": "+r.Decision.Reason)
	return tool.Approval{Message: "it needs an approval (" + r.Decision.Reason + "), and " + why}
}

func (a *asker) approve(ctx context.Context, r tool.Request) (tool.Approval, error) {
	if a.nobody() {
		return a.refuse(r, "there is no terminal to ask on (--yes allows everything)"), nil
	}
	select {
	case <-a.arrival(r.Call.ID):
	case <-ctx.Done():
		return tool.Approval{}, context.Cause(ctx)
	}
	a.asking.Lock()
	defer a.asking.Unlock()
	if a.all {
		return tool.Approval{Allow: true}, nil
	}
	answer, err := a.ask(ctx, a.question(ctx, r))
	switch {
	case errors.Is(err, errNoAnswer):
		return a.refuse(r, err.Error()), nil
	case err != nil:
		return tool.Approval{}, err
	}
	switch strings.ToLower(answer) {
	case "y", "yes":
		return tool.Approval{Allow: true}, nil
	case "a", "all":
		a.all = true
		return tool.Approval{Allow: true}, nil
	case "", "n", "no":
		return tool.Approval{Message: "the user refused it"}, nil
	}
	return tool.Approval{Message: "the user refused it and said: " + answer}, nil
}

// question shows what a call will do: the diff of its changes, the command, or what it touches.
func (a *asker) question(ctx context.Context, r tool.Request) string {
	var b strings.Builder
	colour := a.host.colours(a.host.Stderr)
	fmt.Fprintf(&b, "\n%s\n", toolTitle(r.Spec.Name, r.Call.Args))
	diff := ""
	switch p, ok, err := r.Preview(ctx); {
	case err != nil:
		fmt.Fprintf(&b, "  this call would fail: %s\n", summary(err.Error()))
	case ok:
		const most = 400
		if diff = previewDiff(r.Call.Env, p); diff != "" {
			b.WriteString(showDiff(diff, "  ", most, colour))
		}
	}
	for _, access := range r.Accesses {
		if diff != "" && access.Kind != policy.Delete {
			continue
		}
		fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(visible(access.String()), "\n", "\n    "))
		if access.Dir != "" {
			fmt.Fprintf(&b, "    in %s\n", visible(access.Dir))
		}
	}
	if len(r.Accesses) == 0 {
		fmt.Fprintf(&b, "  %s\n", visible(string(r.Call.Args)))
	}
	b.WriteString("Allow? [y]es, [a]llow everything this run, [n]o, or type instructions: ")
	return b.String()
}

// answer asks the user what the agent wants to know.
func (a *asker) answer(ctx context.Context, question string) (string, error) {
	a.asking.Lock()
	defer a.asking.Unlock()
	return a.ask(ctx, "\n"+visible(question)+"\n> ")
}

// errNoAnswer says that the terminal was closed.
var errNoAnswer = errors.New("the terminal was closed before there was an answer")

// ask shows a question and reads a line. What was typed before the question is not the answer.
func (a *asker) ask(ctx context.Context, question string) (string, error) {
	if f, ok := a.host.Stdin.(*os.File); ok {
		forgetTyped(f)
	}
	defer a.view.ask(question)()
	if a.in == nil {
		a.in, a.typed = bufio.NewReader(a.host.Stdin), make(chan string, 1)
	}
	if !a.reading {
		a.reading = true
		go a.readLine()
	}
	select {
	case line, ok := <-a.typed:
		if a.reading = !ok; !ok {
			return "", errNoAnswer
		}
		return strings.TrimSpace(line), nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// readLine reads a line that is typed. That cannot be broken off, so it may outlive its question.
func (a *asker) readLine() {
	line, err := a.in.ReadString('\n')
	if err != nil && line == "" {
		close(a.typed)
		return
	}
	a.typed <- line
}
