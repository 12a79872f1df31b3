package feature

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/schedule"
	"github.com/reins-agent/reins/tool"
)

// Schedule holds a session's scheduled jobs. Its extension is Attach: the session gets the tools cron_create, cron_list
// and cron_delete, and the host must call Run. Jobs are derived from session records, so they survive a resume. They run
// only during Run.
type Schedule struct {
	// Location is the time zone for jobs; nil means the host's.
	Location *time.Location

	mu    sync.Mutex
	table schedule.Table
	last  event.Seq // the last record that Open applied
}

func (c *Schedule) now() time.Time {
	if c.Location != nil {
		return time.Now().In(c.Location)
	}
	return time.Now()
}

// Attach is a [coding.Extension]. It adds the tools for scheduled jobs.
func (c *Schedule) Attach(context.Context, *coding.Host) (coding.Feature, error) {
	return coding.Feature{Tools: c.tools(), Follow: c.load}, nil
}

// Run delivers the prompts of jobs when they are due, until ctx is done or the session is closed. Jobs that were due
// while no host was running are not run; they are reported in one message.
func (c *Schedule) Run(ctx context.Context, s *agent.Session, deliver func(from event.Origin, text string) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	changed := make(chan struct{}, 1)
	go func() { stop(c.follow(ctx, s, changed)) }()
	if err := c.reportMissed(deliver); err != nil {
		return err
	}
	for {
		if err := c.runDue(deliver); err != nil {
			return err
		}
		timer := time.NewTimer(c.pause())
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-timer.C:
		case <-changed:
			timer.Stop()
		}
	}
}

// pause returns how long to wait until the next job, at most a minute, because the clock may be changed.
func (c *Schedule) pause() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	next := c.table.Next(now.Location())
	if next.IsZero() {
		return time.Minute
	}
	return max(min(next.Sub(now), time.Minute), 0)
}

// load loads a session's jobs.
func (c *Schedule) load(ctx context.Context, s *agent.Session) error {
	c.mu.Lock()
	c.table, c.last = schedule.Table{}, 0
	c.mu.Unlock()
	for r, err := range s.Records(ctx, 0) {
		if err != nil {
			return err
		}
		c.apply(r)
		c.last = r.Seq
	}
	return nil
}

// follow applies a session's records since it was opened, until it is closed.
func (c *Schedule) follow(ctx context.Context, s *agent.Session, changed chan<- struct{}) error {
	for r, err := range s.Events(ctx, c.last) {
		if err != nil {
			return err
		}
		c.apply(r)
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	return agent.ErrClosed
}

// The fields of results that change the jobs.
const (
	fieldJob     = "job_created"
	fieldDeleted = "job_deleted"
)

// apply applies a record. It has no effect if a tool or runDue has already made the change.
func (c *Schedule) apply(r event.Record) {
	if r.Agent != "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch d := r.Data.(type) {
	case event.SessionResume:
		if d.Imported { // jobs from an archive must not run on this host
			c.table.Clear()
		}
	case event.ToolCallEnd:
		if made, ok := d.Fields[fieldJob]; ok && d.Error == nil {
			c.add(made)
		}
		if id, ok := d.Fields[fieldDeleted].(string); ok && d.Error == nil {
			c.table.Delete(id)
		}
	case event.SteeringQueued:
		switch o := d.Origin; {
		case o == nil:
		case o.Kind == event.OriginSchedule:
			c.table.Ran(o.ID, o.At)
		case o.Kind == event.OriginMissed:
			c.table.Skip(o.At.In(c.now().Location()))
		}
	}
}

// add adds a job from a record's fields; c.mu is held.
func (c *Schedule) add(made any) {
	b, err := json.Marshal(made)
	var j schedule.Job
	if err == nil && json.Unmarshal(b, &j) == nil && j.ID != "" {
		c.table.Add(j)
	}
}

const (
	dueFormat    = "[Scheduled job %s, due at %s. This message is from the schedule, not from the user.]\n%s"
	missedFormat = "[Scheduled jobs were due before %s while no host was running. They were not run. This message is from the " +
		"schedule, not from the user.]\n%s"
)

// runDue delivers the prompts of jobs that are due.
func (c *Schedule) runDue(deliver func(event.Origin, string) error) error {
	c.mu.Lock()
	due := c.table.Due(c.now())
	c.mu.Unlock()
	for _, d := range due {
		from := event.Origin{Kind: event.OriginSchedule, ID: d.ID, At: d.At}
		if err := deliver(from, fmt.Sprintf(dueFormat, d.Title(), d.At.Format(time.RFC3339), d.Prompt)); err != nil {
			return err
		}
		c.mu.Lock() // the record has the same effect, but comes later
		c.table.Ran(d.ID, d.At)
		c.mu.Unlock()
	}
	return nil
}

// reportMissed reports the jobs that were due while no host was running.
func (c *Schedule) reportMissed(deliver func(event.Origin, string) error) error {
	c.mu.Lock()
	now := c.now().Truncate(time.Second)
	missed := c.table.Due(now)
	c.mu.Unlock()
	if len(missed) == 0 {
		return nil
	}
	var list strings.Builder
	for _, d := range missed {
		fmt.Fprintf(&list, "- job %s, due %d times, last at %s: %s\n", d.Title(), d.Times, d.At.Format(time.RFC3339), d.Prompt)
	}
	from := event.Origin{Kind: event.OriginMissed, At: now}
	if err := deliver(from, fmt.Sprintf(missedFormat, now.Format(time.RFC3339), list.String())); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.table.Skip(now)
	return nil
}

type cronIn struct {
	Schedule string `json:"schedule" jsonschema:"cron expression with 5 fields, in local time"`
	Prompt   string `json:"prompt" jsonschema:"what to tell you then"`
	Name     string `json:"name,omitempty"`
	Once     bool   `json:"once,omitempty" jsonschema:"run only at the next time"`
}

type cronID struct {
	ID string `json:"id" jsonschema:"id of the job"`
}

func (c *Schedule) tools() []tool.Tool {
	spec := func(name, description string) tool.Spec {
		return tool.Spec{Name: name, Version: "1.0.0", Role: agent.RoleSession, Description: description}
	}
	list := spec("cron_list", "List the scheduled jobs of this session.")
	list.ReadOnly, list.Idempotent = true, true
	return []tool.Tool{
		tool.New(
			spec("cron_create", "Schedule a prompt to yourself, once or repeatedly (for 30 days), while the host runs."),
			tool.Nothing[cronIn],
			c.create,
		),
		tool.New(list, tool.Nothing[struct{}], c.list),
		tool.New(spec("cron_delete", "Delete a scheduled job."), tool.Nothing[cronID], c.delete),
	}
}

func (c *Schedule) create(_ context.Context, _ *tool.Call, in cronIn) (tool.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	j, err := c.table.New(schedule.Job{
		Name:     strings.Join(strings.Fields(in.Name), " "),
		Schedule: in.Schedule,
		Prompt:   in.Prompt,
		Once:     in.Once,
		Created:  now.Truncate(time.Second),
	})
	if err != nil {
		return tool.Failure(tool.ValidationError, "No job was created: %v.", err), nil
	}
	c.table.Add(j)
	res := tool.Success("Job %s is due at %s.", j.Title(), j.Next(now.Location()).Format(time.RFC1123Z))
	res.Fields = map[string]any{fieldJob: j}
	return res, nil
}

func (c *Schedule) list(context.Context, *tool.Call, struct{}) (tool.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out strings.Builder
	for _, j := range c.table.Jobs() {
		next := "never"
		if at := j.Next(c.now().Location()); !at.IsZero() {
			next = at.Format(time.RFC1123Z)
		}
		fmt.Fprintf(&out, "%s: %s, next %s: %s\n", j.Title(), j.Schedule, next, j.Prompt)
	}
	if out.Len() == 0 {
		return tool.Success("There are no scheduled jobs."), nil
	}
	return tool.Result{Output: tool.Text(out.String())}, nil
}

func (c *Schedule) delete(_ context.Context, _ *tool.Call, in cronID) (tool.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range c.table.Jobs() {
		if j.ID == in.ID {
			c.table.Delete(j.ID)
			res := tool.Success("Job %s was deleted.", j.Title())
			res.Fields = map[string]any{fieldDeleted: j.ID}
			return res, nil
		}
	}
	return tool.Failure(tool.ValidationError, "Unknown job %q; cron_list lists all jobs.", in.ID), nil
}
