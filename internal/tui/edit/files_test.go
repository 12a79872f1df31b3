package edit

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// bubbled runs a test with a finder whose searches answer after a time.
func bubbled(t *testing.T, answer func(n int, query string) (time.Duration, Listed, error), test func(f *Files, searches, changes *atomic.Int32)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var searches, changes atomic.Int32
		f := NewFiles(func() Search {
			return func(ctx context.Context, query string, _ int) (Listed, error) {
				after, listed, err := answer(int(searches.Add(1)), query)
				select {
				case <-time.After(after):
					return listed, err
				case <-ctx.Done():
					return Listed{}, ctx.Err()
				}
			}
		}, func() { changes.Add(1) })
		defer f.Close() // or the bubble never ends
		test(f, &searches, &changes)
	})
}

func TestFiles_AppearWithTheKeyIfTheSearchIsFast(t *testing.T) {
	bubbled(t, func(_ int, query string) (time.Duration, Listed, error) {
		return time.Millisecond, Listed{Paths: []string{query + ".go", "x/a_" + query}}, nil
	}, func(f *Files, searches, changes *atomic.Int32) {
		for range 3 {
			if got, _ := f.Find("ma", 10); len(got) != 2 || got[0] != (Found{Path: "ma.go"}) {
				t.Errorf("found %v", got)
			}
		}
		if synctest.Wait(); searches.Load() != 1 || changes.Load() != 0 {
			t.Errorf("%d searches and %d changes, want 1 and 0", searches.Load(), changes.Load())
		}
		time.Sleep(staleAfter)
		if f.Find("ma", 10); searches.Load() != 2 {
			t.Errorf("%d searches when the result is old, want 2", searches.Load())
		}
	})
}

func TestFiles_ASlowSearchKeepsWhatIsKnownAndReportsItsEnd(t *testing.T) {
	bubbled(t, func(n int, query string) (time.Duration, Listed, error) {
		return time.Duration(n-1) * time.Second, Listed{Paths: []string{"main.go", "m/other.go", query}}, nil
	}, func(f *Files, searches, changes *atomic.Int32) {
		f.Find("m", 10)
		start := time.Now()
		got, _ := f.Find("mai", 10)
		if len(got) != 1 || got[0].Path != "main.go" || time.Since(start) != patience {
			t.Errorf("found %v after %v", got, time.Since(start))
		}
		time.Sleep(2 * time.Second)
		if changes.Load() != 1 {
			t.Errorf("%d changes, want 1", changes.Load())
		}
		if got, _ := f.Find("mai", 10); len(got) != 2 || got[1].Path != "mai" {
			t.Errorf("found %v after the search", got)
		}
	})
}

func TestFiles_AreSearchedAgainWhileTheyAreListed(t *testing.T) {
	bubbled(t, func(n int, _ string) (time.Duration, Listed, error) {
		if n < 4 {
			return 0, Listed{Paths: []string{"a"}, Note: "listing", More: true}, nil
		}
		return 0, Listed{Paths: []string{"a", "ab"}}, nil
	}, func(f *Files, searches, changes *atomic.Int32) {
		if got, note := f.Find("a", 10); len(got) != 1 || note != "listing" {
			t.Errorf("found %v, note %q", got, note)
		}
		time.Sleep(time.Minute)
		if searches.Load() != 4 || changes.Load() != 3 {
			t.Errorf("%d searches and %d changes, want 4 and 3", searches.Load(), changes.Load())
		}
		if got, note := f.listed.matching("a"), f.listed.Note; len(got) != 2 || note != "" {
			t.Errorf("found %v, note %q", got, note)
		}
	})
}

func TestFiles_CloseStopsASearch(t *testing.T) {
	bubbled(t, func(int, string) (time.Duration, Listed, error) {
		return time.Hour, Listed{}, nil
	}, func(f *Files, searches, _ *atomic.Int32) {
		start := time.Now()
		f.Find("", 1)
		f.Close()
		if f.Find("b", 1); searches.Load() != 1 || time.Since(start) > time.Second {
			t.Errorf("%d searches, closed after %v", searches.Load(), time.Since(start))
		}
	})
}

func TestFiles_AFailedSearchIsNotRepeatedWithEachKey(t *testing.T) {
	bubbled(t, func(int, string) (time.Duration, Listed, error) {
		return 0, Listed{}, errors.New("no such directory")
	}, func(f *Files, searches, _ *atomic.Int32) {
		for range 5 {
			f.Find("m", 10)
		}
		if searches.Load() != 1 {
			t.Errorf("%d searches, want 1", searches.Load())
		}
	})
}

func TestPopup_TellsWhatIsNotSearched(t *testing.T) {
	files := newIndex([]string{"main.go"})
	files.note = "more than 2000000 files: the rest is not searched"
	for typed, want := range map[string]int{"'@mai": 2, "'@zzz": 1} {
		e := New(Options{Files: files})
		press(t, e, typed)
		p := e.Popup()
		if p == nil || len(p.Items) != want || p.Items[want-1].Label != files.note {
			t.Fatalf("%s: %+v", typed, p)
		}
		p.Move(-1)
		before := e.buf.text
		if press(t, e, "tab"); e.buf.text != before {
			t.Errorf("%s: the note makes %q", typed, e.buf.text)
		}
	}
}
