package filestore

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/event"
)

func BenchmarkList_10000(b *testing.B) {
	s := newStore(b, Config{})
	for i := range 10_000 {
		must(b, os.MkdirAll(s.path(fmt.Sprint("s", i)), dirPerm))
		log, err := appendJSON(nil, header{1, fmt.Sprint("s", i)})
		must(b, err)
		must(b, os.WriteFile(s.path(fmt.Sprint("s", i), logName), log, filePerm))
		m := event.Meta{ID: fmt.Sprint("s", i), Title: "a title", Prompt: strings.Repeat("prompt ", 20), Model: "m", Updated: time.Unix(int64(i), 0)}
		must(b, s.writeIndex(s.path(m.ID), index{Size: int64(len(log)), Lines: 1, Meta: m}))
	}
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range s.List(b.Context()) {
			must(b, err)
			n++
		}
		if n != 10_000 {
			b.Fatal(n)
		}
	}
}
