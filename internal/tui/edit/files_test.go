package edit

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func TestFiles_AreIndexedInTheBackgroundOnceAndAgainWhenStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		builds, changes := 0, 0
		f := NewFiles(func(context.Context) ([]string, error) {
			builds++
			time.Sleep(time.Second) // of the bubble
			return []string{"main.go"}, nil
		}, func() { changes++ })
		if got := f.Find("m", 10); got != nil {
			t.Errorf("found %v before there is an index", got)
		}
		for range 5 {
			f.Find("ma", 10)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := f.Find("m", 10); len(got) != 1 || builds != 1 || changes != 1 {
			t.Errorf("found %v after %d builds and %d changes", got, builds, changes)
		}
		time.Sleep(30 * time.Second)
		f.Find("m", 10)
		time.Sleep(time.Minute)
		if builds != 2 {
			t.Errorf("%d builds after 30 seconds, want 2", builds)
		}
		if got := f.Find("m", 10); len(got) != 1 { // the old index, during the third build
			t.Errorf("found %v during a build", got)
		}
		f.Close()
		if f.Find("m", 10); builds != 3 {
			t.Errorf("%d builds after the end, want 3", builds)
		}
	})
}

func TestFiles_CloseStopsABuild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFiles(func(ctx context.Context) ([]string, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, nil)
		f.Find("", 1)
		f.Close() // or the bubble never ends
	})
}

func TestFiles_AFailedBuildIsNotRepeatedWithEachKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		builds := 0
		f := NewFiles(func(context.Context) ([]string, error) {
			builds++
			return nil, errors.New("no such directory")
		}, nil)
		for range 5 {
			f.Find("m", 10)
			synctest.Wait()
		}
		if builds != 1 {
			t.Errorf("%d builds, want 1", builds)
		}
		f.Close()
	})
}

func TestIndex_FindsTheSameForAQueryTypedKeyByKey(t *testing.T) {
	part := rapid.StringMatching(`[a-cA-C_.]{1,4}`)
	rapid.Check(t, func(t *rapid.T) {
		var list []string
		for range rapid.IntRange(0, 30).Draw(t, "files") {
			list = append(list, strings.Join(rapid.SliceOfN(part, 1, 3).Draw(t, "path"), "/"))
		}
		query := rapid.StringMatching(`[a-cA-C_./]{1,5}`).Draw(t, "query")
		limit := rapid.IntRange(1, 10).Draw(t, "limit")
		keyByKey := newIndex(list)
		var got []Found
		for i := 1; i <= len(query); i++ {
			got = keyByKey.find(query[:i], limit)
		}
		if want := newIndex(list).find(query, limit); !slices.Equal(got, want) {
			t.Fatalf("%q in %q: %v, want %v", query, list, got, want)
		}
		for _, f := range got {
			if !hasLetters([]byte(strings.ToLower(f.Path)), []byte(strings.ToLower(strings.TrimPrefix(query, "./")))) {
				t.Fatalf("%q finds %q", query, f.Path)
			}
		}
	})
}
