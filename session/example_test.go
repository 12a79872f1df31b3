package session_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/home"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/session"
)

// List the sessions of a directory, rename one of them, and copy it without its last prompt.
func ExampleManager() {
	dir := exampleSessions()
	defer os.RemoveAll(filepath.Dir(string(dir)))

	store, err := dir.OpenSessions(nil) // home.Find returns the directory of "reins run"
	if err != nil {
		fmt.Println(err)
		return
	}
	sessions := &session.Manager{Store: store, Home: dir}
	ctx := context.Background()
	if _, err := sessions.Rename(ctx, session.Latest, "Parser: off by one"); err != nil {
		fmt.Println(err)
	}
	if _, err := sessions.Fork(ctx, session.ForkOptions{From: "4t@1", ID: "second-try"}); err != nil {
		fmt.Println(err)
	}
	list, err := sessions.List(ctx, session.Filter{Dir: filepath.Dir(string(dir))})
	for _, s := range list.Sessions {
		fmt.Println(s.ID, s.Last, s.Title)
	}
	fmt.Println(err)
	_, err = sessions.Find(ctx, "second-rty")
	fmt.Println(err)
	// Unordered output:
	// 4TKZ6W2Q 2 Parser: off by one
	// second-try 1 Parser: off by one
	// <nil>
	// session "second-rty" not found; did you mean second-try?
}

// exampleSessions returns a state directory with a session that worked in the directory above it.
func exampleSessions() home.Dir {
	project, err := os.MkdirTemp("", "reins-example-")
	if err != nil {
		panic(err)
	}
	dir := home.Dir(filepath.Join(project, "state"))
	store, err := dir.OpenSessions(nil)
	if err != nil {
		panic(err)
	}
	w, err := store.Create(context.Background(), event.Meta{ID: "4TKZ6W2Q", Dir: project})
	if err != nil {
		panic(err)
	}
	defer w.Close()
	for i, text := range []string{"Fix the parser", "Now the other one"} {
		r := event.Record{Seq: event.Seq(i + 1), Session: "4TKZ6W2Q", Data: event.UserInput{Message: llm.UserText(text)}}
		if err := w.Append(context.Background(), r); err != nil {
			panic(err)
		}
	}
	return dir
}
