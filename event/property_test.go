package event

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// follower is a reader that is stepped by hand.
type follower struct {
	after Seq
	next  func() (Record, error, bool)
	stop  func()
	seen  []Record
}

// TestLog_AnyReaderSeesEverythingDurableInOrder lets readers join, read, pause and leave at random. They must see all
// durable records after the one they asked for, and some transient records, all in order.
func TestLog_AnyReaderSeesEverythingDurableInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &Log{}
		var all []string // all appended records, in order
		var readers []*follower
		n := 0
		add := func(d func(string) Data) {
			n++
			name := fmt.Sprint(n)
			r, ok := l.Append(Record{Session: name, Data: d(name)})
			if !ok || r.Session != name || r.Durable() == r.Kind().Transient() {
				t.Fatalf("Append gave %+v, %v", r, ok)
			}
			all = append(all, name)
		}
		t.Repeat(map[string]func(*rapid.T){
			"durable":   func(*rapid.T) { add(func(s string) Data { return Warning{Message: s} }) },
			"transient": func(*rapid.T) { add(func(s string) Data { return TextDelta{Text: s} }) },
			"many transient": func(t *rapid.T) {
				for range rapid.IntRange(0, 200).Draw(t, "n") {
					add(func(s string) Data { return TextDelta{Text: s} })
				}
			},
			"join": func(t *rapid.T) {
				after := Seq(rapid.IntRange(0, int(l.Last())+2).Draw(t, "after"))
				next, stop := iter.Pull2(l.Events(context.Background(), after))
				readers = append(readers, &follower{after: after, next: next, stop: stop})
			},
			"read": func(t *rapid.T) {
				if len(readers) == 0 {
					return
				}
				f := readers[rapid.IntRange(0, len(readers)-1).Draw(t, "reader")]
				for range rapid.IntRange(0, 100).Draw(t, "n") {
					if last := lastSeq(f); last >= l.Last() {
						return // it could block
					}
					f.read(t)
				}
			},
			"leave": func(t *rapid.T) {
				if len(readers) == 0 {
					return
				}
				i := rapid.IntRange(0, len(readers)-1).Draw(t, "reader")
				readers[i].stop()
				readers = slices.Delete(readers, i, i+1)
			},
			"": func(t *rapid.T) {
				if len(l.loose) > maxTransient {
					t.Fatalf("%d transient records are kept", len(l.loose))
				}
			},
		})
		l.Close()
		for _, f := range readers {
			for f.read(t) {
			}
			f.stop()
			f.check(t, l, all)
		}
		if len(l.readers) != 0 {
			t.Fatalf("%d readers are left", len(l.readers))
		}
	})
}

func (f *follower) read(t *rapid.T) bool {
	r, err, ok := f.next()
	if err != nil {
		t.Fatalf("a reader failed: %v", err)
	}
	if ok {
		f.seen = append(f.seen, r)
	}
	return ok
}

func lastSeq(f *follower) Seq {
	for _, r := range slices.Backward(f.seen) {
		if r.Seq != 0 {
			return r.Seq
		}
	}
	return f.after
}

func (f *follower) check(t *rapid.T, l *Log, all []string) {
	var durable []Record
	place := -1
	for _, r := range f.seen {
		p := slices.Index(all, r.Session)
		if p <= place {
			t.Fatalf("record %s comes behind %s", r.Session, all[place])
		}
		place = p
		if r.Seq != 0 {
			durable = append(durable, r)
		}
	}
	want := l.Records(f.after)
	if len(durable) != len(want) {
		t.Fatalf("a reader after %d saw %d durable records of %d", f.after, len(durable), len(want))
	}
	for i, r := range durable {
		if r.Seq != want[i].Seq || r.Session != want[i].Session {
			t.Fatalf("record %d is %s, want %s", r.Seq, r.Session, want[i].Session)
		}
	}
}

// A reader that stands still makes appending no slower: records that it has not seen are not examined again.
func BenchmarkLog_AppendBesideAStuckReader(b *testing.B) {
	l := &Log{}
	l.Append(Record{Data: TextDelta{Text: "x"}})
	r := l.join(0)
	defer l.leave(r)
	for b.Loop() {
		l.Append(Record{Data: TextDelta{Text: "x"}})
		l.Append(Record{Data: Warning{Message: "w"}})
	}
}
