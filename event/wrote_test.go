package event_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/reins-agent/reins/env"
	. "github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/tool"
)

func wrote(path, before, after string) tool.Wrote {
	return tool.Wrote{Path: path, Before: before, After: after}
}

func unsure(path, before, after string) tool.Wrote {
	return tool.Wrote{Path: path, Before: before, After: after, Command: true, Unsure: true}
}

func TestAttribute(t *testing.T) {
	sum := Attribute([]tool.Wrote{
		wrote("chain", "1", "2"), wrote("chain", "2", "3"),
		wrote("broken", "1", "2"), wrote("broken", "x", "3"),
		wrote("twice", "1", "2"), wrote("twice", "1", "2"), // by concurrent calls
		unsure("own", "1", "2"), wrote("own", "1", "2"),
		unsure("unsure", "1", "2"),
		wrote("mixed", "1", "2"), unsure("mixed", "2", "3"),
	})
	for path, want := range map[string]string{
		"chain": "1 3 false false", "broken": "1 3 true false", "twice": "1 2 false false", "own": "1 2 false false",
		"unsure": "1 2 false true", "mixed": "1 3 false true",
	} {
		w := sum[path]
		if got := fmt.Sprintf("%s %s %v %v", w.Before, w.After, w.Shared, w.Unsure); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

// history returns the undo for a log's last input.
func history(data ...Data) Undoing {
	var records []Record
	for i, d := range data {
		records = append(records, Record{Seq: Seq(i + 1), Time: time.Unix(int64(i), 0), Data: d})
	}
	u, _ := Replay(records).LastFiles()
	return u
}

func TestUndoing_SaysWhatIsNotKnown(t *testing.T) {
	input := UserInput{Message: llm.UserText("go")}
	start, end := ToolCallStart{ID: "1"}, ToolCallEnd{ID: "1"}
	kept := Checkpoint{ID: "c", Traced: true}
	failed := func(why tool.Untraced) ToolCallEnd {
		return ToolCallEnd{ID: "1", Artifacts: tool.Artifacts{Untraced: why}}
	}
	for name, c := range map[string]struct {
		log  []Data
		want tool.Untraced
	}{
		"all calls ended":              {[]Data{input, start, kept, end}, ""},
		"a call runs":                  {[]Data{input, start, kept}, tool.UntracedInterrupted},
		"a call waits":                 {[]Data{input, kept, start, ApprovalRequested{ID: "1"}}, ""},
		"a call was approved":          {[]Data{input, kept, start, ApprovalRequested{ID: "1"}, ApprovalResolved{ID: "1", Allowed: true}}, tool.UntracedInterrupted},
		"a call was refused":           {[]Data{input, kept, start, ApprovalRequested{ID: "1"}, ApprovalResolved{ID: "1"}}, ""},
		"a question is open":           {[]Data{input, kept, ToolCallStart{ID: "1", Question: "?"}}, ""},
		"a call was interrupted":       {[]Data{input, start, kept, failed(tool.UntracedInterrupted)}, tool.UntracedInterrupted},
		"it ended in the next input":   {[]Data{input, start, kept, input, failed(tool.UntracedInterrupted)}, tool.UntracedInterrupted},
		"a background process runs":    {[]Data{input, start, kept, failed(tool.UntracedBackground), input, kept}, tool.UntracedBackground},
		"a background process is over": {[]Data{input, start, kept, failed(tool.UntracedBackground), SessionResume{}, input, kept}, ""},
	} {
		if u := history(c.log...); u.Untraced != c.want || !u.Traced {
			t.Errorf("%s: got %q, want %q", name, u.Untraced, c.want)
		}
	}
	if u := history(input, Checkpoint{ID: "c"}, start, end); u.Traced || u.Restored != "c" {
		t.Errorf("a log of an earlier version: %+v", u)
	}
}

func TestDisclaim(t *testing.T) {
	store := &Memory{}
	for _, dir := range []string{"/w", "/w/sub", "/elsewhere"} {
		w, err := store.Create(t.Context(), Meta{ID: "other-" + fmt.Sprint(len(dir)), Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		end := ToolCallEnd{ID: "1", Output: tool.Text(""), Artifacts: tool.Artifacts{Wrote: []tool.Wrote{
			wrote("theirs", "", "2"), wrote("both", "", "2"), wrote("older", "", "1"), unsure("doubt", "", "2"), wrote("tool", "", "2"),
		}}}
		if err := w.Append(t.Context(), Record{Seq: 1, Time: time.Now(), Session: "x", Data: end}); err != nil {
			t.Fatal(err)
		}
		w.Close()
	}
	named := wrote("both", "", "2")
	named.Command = true
	own := func() map[string]Wrote {
		return Attribute([]tool.Wrote{
			unsure("theirs", "", "2"), named, unsure("older", "", "2"), unsure("doubt", "", "2"), wrote("tool", "", "2"),
			unsure("sub/theirs", "", "2"),
		})
	}
	u := Undoing{Wrote: own()}
	u.Disclaim(t.Context(), store, "self", "/w", time.Now().Add(-time.Hour), env.PathsOf("linux"))
	got := map[string]bool{}
	for path, w := range u.Wrote {
		got[path] = w.Shared
	}
	if fmt.Sprint(got) != "map[both:true doubt:false older:false tool:false]" {
		t.Errorf("got %v", got)
	}
	u = Undoing{Wrote: own()}
	u.Disclaim(t.Context(), continued{store}, "self", "/w", time.Now().Add(time.Hour), env.PathsOf("linux"))
	if len(u.Wrote) != 6 {
		t.Errorf("earlier changes are claimed: %v", u.Wrote)
	}
}

// continued is a store whose sessions were written to since.
type continued struct{ *Memory }

func (c continued) List(ctx context.Context) iter.Seq2[Meta, error] {
	return func(yield func(Meta, error) bool) {
		for m, err := range c.Memory.List(ctx) {
			if m.Updated = m.Updated.Add(2 * time.Hour); !yield(m, err) {
				return
			}
		}
	}
}
