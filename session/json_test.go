package session_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/session"
)

// TestManager_ArgumentsAndResultsAreData encodes every argument and result, so that a manager can be reached over HTTP.
func TestManager_ArgumentsAndResultsAreData(t *testing.T) {
	then, cost := time.Unix(1_700_000_000, 0).UTC(), 0.25
	sum := event.Spent{Calls: 1, Usage: llm.Usage{Input: 10}, Dollars: cost}
	diff := session.FileDiff{Change: session.Change{Path: "p", Kind: "added"}, Others: true, Added: 1, Removed: 2, Diff: "d"}
	for _, v := range []any{
		session.Filter{Dir: "d", Tag: "t", Since: then, Before: then, Limit: 1},
		session.Listing{Sessions: []event.Meta{{ID: "a"}}, More: 1, Damaged: []session.Damaged{{ID: "b", Error: "e"}}},
		session.SearchOptions{Text: "x", Filter: session.Filter{Tag: "t"}, Hits: 1, PerSession: 2},
		session.ForkOptions{From: "a@1", ID: "i", Title: "t", Damaged: true},
		session.ExportOptions{Session: "a", Secrets: true},
		session.ImportOptions{ID: "i", Damaged: true, MaxSize: 1},
		session.Verified{ID: "i", OK: true, Records: 1, Last: 1, Size: 1, Blobs: 1, BlobSize: 1, Torn: 1, Problems: []string{"p"}},
		session.VerifiedCheckpoints{Checkpoints: "c", OK: true, Problems: []string{"p"}},
		session.CostOptions{Sessions: []string{"a"}, Filter: session.Filter{Tag: "t"}, Since: then},
		session.Cost{
			Sessions: []string{"a"},
			Models:   []event.ModelSpent{{Provider: "p", Model: "m", Spent: sum}},
			Agents:   []event.AgentSpent{{Agent: "1", Task: "t", Spent: sum}, {Agent: "2", Spent: event.Spent{Calls: 2, Unpriced: 2}}},
			Calls:    1,
			Unpriced: 1,
			Usage:    llm.Usage{Input: 1},
			Cost:     &cost,
			CacheHit: 0.5,
			Unread:   []session.Unread{{Session: "a", Records: 1}},
			Damaged:  []session.Damaged{{ID: "b", Error: "e"}},
		},
		session.DiffOptions{Session: "a", From: "@1", To: "@2", Paths: []string{"p"}, All: true, Stat: true},
		diff,
		session.State{Before: "undo", Input: 1, Time: then, Prompt: "p", Checkpoint: "c", ChatUndone: true, FilesUndone: true},
		session.UndoOptions{
			Session: "a", Chat: true, Files: true, To: "@1", Paths: []string{"p"}, Others: session.Keep, Overwrite: []string{"o"}, DryRun: true,
		},
		session.Undone{
			Session: "a", Input: 1, Prompt: "p", Chat: true, Files: true, Partly: true, Changed: []session.Change{diff.Change}, Kept: []string{"k"},
			Conflicts: []session.Conflict{{FileDiff: diff, Unsure: true}}, Unknown: true,
		},
		session.AmbiguousError{Name: "a", IDs: []string{"ab", "ac"}},
		session.NotFoundError{Name: "a", Dir: "d", Near: []string{"b"}, Empty: true},
		session.RefError{Ref: "a@9", Session: "a", Seq: 9, Last: 1},
		session.StateError{State: "@9", Session: "a", Input: 9, Prompt: true},
		session.TagError{Tag: "a b"},
	} {
		encoded, err := json.Marshal(v)
		if err != nil {
			t.Errorf("%T: %v", v, err)
			continue
		}
		decoded := reflect.New(reflect.TypeOf(v))
		if err := json.Unmarshal(encoded, decoded.Interface()); err != nil || !reflect.DeepEqual(decoded.Elem().Interface(), v) {
			t.Errorf("%T: %s becomes %+v (%v), not %+v", v, encoded, decoded.Elem(), err, v)
		}
	}
}
