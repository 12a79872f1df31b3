package step

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/lazy"
)

// Main is the root agent's name.
const Main = "main"

const taskPrefix = "task_" // prefix for task IDs

// Board limits.
const (
	maxTasks   = 10_000
	maxSubject = 500     // bytes
	maxText    = 100_000 // bytes in a description, an output, the metadata or a message
)

// board holds a session's tasks and teams.
type board struct {
	tasks  []event.Task // in order of creation; never changed in place while shared
	shared bool
	teams  []event.Team // never changed in place
	last   int          // last task number, even if that task was undone
}

// snapshot returns the tasks and teams as they are now.
func (b *board) snapshot() board {
	b.shared = true
	return *b
}

// restore restores the tasks and teams in a snapshot. IDs of later tasks are not used again.
func (b *board) restore(to board) {
	b.tasks = to.tasks
	b.teams = to.teams
	b.shared = true
}

// disown drops what belongs to agents in an imported session.
func (b *board) disown() {
	b.tasks, b.teams = slices.Clone(b.tasks), slices.Clone(b.teams)
	for i := range b.tasks {
		if d := &b.tasks[i]; !d.Status.Final() {
			d.Status, d.Owner = event.TaskPending, ""
		}
	}
	for i := range b.teams {
		b.teams[i].Status = event.TeamDisbanded
	}
}

// task returns a task's position, or -1.
func (b *board) task(id string) int {
	return slices.IndexFunc(b.tasks, func(d event.Task) bool { return d.ID == id })
}

// applyTask applies a change. Tasks with a final status stay unchanged.
func (b *board) applyTask(d event.Task) {
	if b.shared {
		b.tasks, b.shared = slices.Clone(b.tasks), false
	}
	switch i := b.task(d.ID); {
	case i < 0:
		n, _ := strconv.Atoi(strings.TrimPrefix(d.ID, taskPrefix))
		b.tasks, b.last = append(b.tasks, d), max(b.last, n)
	case !b.tasks[i].Status.Final():
		b.tasks[i] = d
	}
}

// Tasks lists the tasks in order of creation.
func (t *Tree) Tasks() []event.Task { return t.board.snapshot().tasks }

// Task returns a task.
func (t *Tree) Task(id string) (event.Task, error) {
	if i := t.board.task(id); i >= 0 {
		return t.board.tasks[i], nil
	}
	return event.Task{}, fmt.Errorf("unknown task %q", id)
}

// NewTask returns the record for a new task. It uses d's subject, description, metadata and blockers.
func (t *Tree) NewTask(d event.Task) (event.Task, error) {
	if len(t.board.tasks) >= maxTasks {
		return d, fmt.Errorf("the limit of %d tasks is reached", maxTasks)
	}
	d.ID = taskPrefix + strconv.Itoa(t.board.last+1)
	d.Status = event.TaskPending
	d.Owner = ""
	d.Output = ""
	d.BlockedBy = distinct(d.BlockedBy)
	return d, cmp.Or(checkText(d), t.checkBlockers(d))
}

// TaskChange changes a task. Zero fields change nothing.
type TaskChange struct {
	Status                       event.TaskStatus
	Subject, Description, Output string
	Owner                        *string           // agent name or path; "" means none
	BlockedBy                    []string          // replaces the blockers, even with none
	Metadata                     map[string]string // merged; an empty value removes the key
}

// ChangeTask returns the record for a change by an agent. Only a task's owner and the agents above the owner can change
// it; a task without an owner can be changed by all.
func (t *Tree) ChangeTask(agent, id string, ch TaskChange) (event.Task, error) {
	d, err := t.Task(id)
	switch {
	case err != nil:
		return d, err
	case d.Status.Final():
		return d, fmt.Errorf("%s is %s, which is final", id, d.Status)
	case d.Owner != "" && !t.commands(agent, d.Owner):
		return d, fmt.Errorf("%s belongs to %s", id, d.Owner)
	}
	d.Subject = cmp.Or(ch.Subject, d.Subject)
	d.Description = cmp.Or(ch.Description, d.Description)
	d.Output = cmp.Or(ch.Output, d.Output)
	if ch.Metadata != nil {
		d.Metadata = maps.Clone(d.Metadata)
		if d.Metadata == nil {
			d.Metadata = map[string]string{}
		}
		maps.Copy(d.Metadata, ch.Metadata)
		maps.DeleteFunc(d.Metadata, func(_, v string) bool { return v == "" })
	}
	if err := cmp.Or(checkText(d), t.assign(&d, ch.Owner), t.block(&d, ch.BlockedBy)); err != nil {
		return d, err
	}
	return d, t.move(agent, &d, ch.Status)
}

// assign changes the owner of a task that has not started.
func (t *Tree) assign(d *event.Task, owner *string) error {
	switch {
	case owner == nil || *owner == d.Owner:
		return nil
	case d.Status != event.TaskPending:
		return fmt.Errorf("%s is %s: set it to pending before you assign it", d.ID, d.Status)
	case *owner == "":
		d.Owner = ""
		return nil
	}
	path, ok := t.Find(*owner)
	if !ok {
		return fmt.Errorf("unknown agent %q", *owner)
	}
	d.Owner = t.Name(path)
	return nil
}

// block changes the blockers of a task that has not started.
func (t *Tree) block(d *event.Task, by []string) error {
	if by == nil {
		return nil
	}
	if d.Status != event.TaskPending {
		return fmt.Errorf("%s is %s: only a pending task can be blocked", d.ID, d.Status)
	}
	d.BlockedBy = distinct(by)
	return t.checkBlockers(*d)
}

// move changes a task's status. A task that starts without an owner gets the agent as its owner.
func (t *Tree) move(agent string, d *event.Task, to event.TaskStatus) error {
	switch from := d.Status; {
	case to == "" || to == from:
		return nil
	case from == event.TaskPending && to == event.TaskInProgress:
		if err := t.blocked(*d); err != nil {
			return err
		}
		d.Owner = cmp.Or(d.Owner, t.Name(agent))
	case from == event.TaskInProgress && to == event.TaskPending:
		d.Owner = ""
	case from == event.TaskInProgress && to.Final(), to == event.TaskCancelled:
	case to == event.TaskPending || to == event.TaskInProgress || to.Final():
		return fmt.Errorf("%s is %s: set it to in_progress first", d.ID, from)
	default:
		return fmt.Errorf("unknown status %q: use pending, in_progress, completed, failed or cancelled", to)
	}
	d.Status = to
	return nil
}

// Claim returns the record with which an agent starts the next task that is pending, not blocked, and not owned by
// another agent.
func (t *Tree) Claim(agent string) (event.Task, bool) {
	me := t.Name(agent)
	for _, d := range t.board.tasks {
		if d.Status == event.TaskPending && (d.Owner == "" || d.Owner == me) && t.blocked(d) == nil {
			d.Status, d.Owner = event.TaskInProgress, me
			return d, true
		}
	}
	return event.Task{}, false
}

// blocked returns an error that names the tasks that must be completed before a task can start, or nil. Unknown tasks
// block it too.
func (t *Tree) blocked(d event.Task) error {
	var by []string
	for _, id := range d.BlockedBy {
		switch b, err := t.Task(id); {
		case err != nil:
			by = append(by, id+" (unknown)")
		case b.Status != event.TaskCompleted:
			by = append(by, fmt.Sprintf("%s (%s)", id, b.Status))
		}
	}
	if by == nil {
		return nil
	}
	return fmt.Errorf("%s is blocked by %s", d.ID, strings.Join(by, ", "))
}

// checkBlockers returns an error if a blocker is unknown, or if a task would wait for itself.
func (t *Tree) checkBlockers(d event.Task) error {
	seen := map[string]bool{}
	next := slices.Clone(d.BlockedBy)
	for len(next) > 0 {
		id := next[0]
		next = next[1:]
		if id == d.ID {
			return fmt.Errorf("%s would wait for itself", id)
		}
		if seen[id] {
			continue
		}
		seen[id] = true
		b, err := t.Task(id)
		if err != nil && slices.Contains(d.BlockedBy, id) {
			return fmt.Errorf("blocked_by: %w", err)
		}
		next = append(next, b.BlockedBy...)
	}
	return nil
}

// distinct sorts IDs and drops duplicates. It returns nil for an empty list.
func distinct(ids []string) []string {
	if len(ids) == 0 {
		return nil
	}
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// checkText checks a task's texts.
func checkText(d event.Task) error {
	size := 0
	for k, v := range d.Metadata {
		size += len(k) + len(v)
	}
	switch {
	case strings.TrimSpace(d.Subject) == "":
		return errors.New("the subject is empty")
	case len(d.Subject) > maxSubject:
		return fmt.Errorf("the subject is longer than %d bytes", maxSubject)
	case max(len(d.Description), len(d.Output), size) > maxText:
		return fmt.Errorf("a text is longer than %d bytes: write it to a file", maxText)
	}
	return nil
}

// Name returns an agent's name, or its path if it has none.
func (t *Tree) Name(path string) string {
	if path == "" {
		return Main
	}
	if s, ok := t.agents[path]; ok {
		return cmp.Or(s.name, path)
	}
	return path
}

// Find returns an agent's path, by name or path.
func (t *Tree) Find(name string) (path string, ok bool) {
	if name == Main {
		return "", true
	}
	for path, s := range t.agents {
		if name != "" && (name == path || name == s.name) {
			return path, true
		}
	}
	return "", false
}

// CheckName returns an error if a name cannot be given to a new agent.
func (t *Tree) CheckName(name string) error {
	if name == "" {
		return nil
	}
	if err := validName(name); err != nil {
		return err
	}
	if _, taken := t.Find(name); taken {
		return fmt.Errorf("an agent %q already exists", name)
	}
	return nil
}

var nameForm = lazy.Regexp(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)

func validName(name string) error {
	if !nameForm().MatchString(name) || strings.HasPrefix(name, taskPrefix) {
		return fmt.Errorf(
			"invalid name %q: use letters, digits, hyphens and underscores, and begin with a letter, but not with task_",
			name,
		)
	}
	return nil
}

// commands reports whether an agent has a name or is above the agent with that name.
func (t *Tree) commands(agent, name string) bool {
	if agent == "" {
		return true
	}
	path, ok := t.Find(name)
	return ok && (path == agent || strings.HasPrefix(path, agent+"/"))
}
