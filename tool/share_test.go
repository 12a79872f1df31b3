package tool

import (
	"runtime"
	"testing"
	"time"
)

func TestRegistry_ThoseWithTheSameToolsShareTheirCheckers(t *testing.T) {
	var a, b Registry
	for _, r := range []*Registry{&a, &b} {
		if err := r.Register(echo(nil)); err != nil {
			t.Fatal(err)
		}
	}
	if a.tools["echo"].check != b.tools["echo"].check {
		t.Error("each registry has a checker of its own")
	}
}

func TestRegistry_CheckersGoWithTheLastRegistry(t *testing.T) {
	const schema = `{"type":"object","title":"of this test alone"}`
	r := &Registry{}
	if err := r.Register(NewRaw(Spec{Name: "raw", Input: []byte(schema)}, nil, nil)); err != nil {
		t.Fatal(err)
	}
	if _, held := checkers.Load(schema); !held {
		t.Fatal("the checker is not shared while it is in use")
	}
	runtime.KeepAlive(r)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		runtime.GC()
		if _, held := checkers.Load(schema); !held {
			return
		}
		runtime.Gosched()
	}
	t.Error("the checker stays when nothing uses it")
}

func TestRegistry_AliasesOfASelectionAreItsOwn(t *testing.T) {
	var all Registry
	if err := all.Register(echo(nil)); err != nil {
		t.Fatal(err)
	}
	all.Alias(Alias{Name: "say", Tool: "echo"})
	some := all.Select(nil)
	some.Alias(Alias{Name: "repeat", Tool: "echo"})
	if _, ok := all.Spec("repeat"); ok {
		t.Error("an alias of the selection is one of the whole")
	}
	some.Unregister("echo")
	if _, ok := all.Spec("say"); !ok {
		t.Error("an alias that was removed from the selection is gone from the whole")
	}
}
