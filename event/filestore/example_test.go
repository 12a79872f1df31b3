package filestore_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/event/filestore"
)

func Example() {
	dir, err := os.MkdirTemp("", "sessions")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := filestore.New(filestore.Config{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	w, err := store.Create(ctx, event.Meta{ID: "first", Title: "An example"})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close()
	r := event.Record{Seq: 1, Time: time.Now(), Session: "first", Data: event.Warning{Message: "careful"}}
	if err := w.Append(ctx, r); err != nil {
		log.Fatal(err) // it was not saved
	}
	for r, err := range store.Load(ctx, "first", 0) {
		if err != nil {
			log.Fatal(err) // or continue after the damage
		}
		fmt.Println(r.Seq, r.Kind())
	}
	// Output: 1 WARNING
}
