package object_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/object"
)

func stream[T any](t *testing.T, s *speaker) (updates []object.Update[T], err error) {
	t.Helper()
	for u, e := range object.Stream[T](t.Context(), s.client(t), &llm.Request{}) {
		if err != nil {
			t.Fatal("the stream continues after its error")
		}
		if err = e; e == nil {
			updates = append(updates, u)
		}
	}
	return updates, err
}

func TestStream_ValueGrowsAndIsValidatedAtTheEnd(t *testing.T) {
	for name, s := range map[string]*speaker{
		"text":   {text: soupJSON},
		"fenced": {text: "```json\n" + soupJSON + "\n```"},
		"tool":   {text: soupJSON, asTool: true},
	} {
		updates, err := stream[recipe](t, s)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		last := updates[len(updates)-1]
		if !last.Done || last.Response == nil || !reflect.DeepEqual(last.Value, soup) {
			t.Errorf("%s: the last update is %+v", name, last)
		}
		if len(updates) < 5 {
			t.Errorf("%s: only %d updates came", name, len(updates))
		}
		var before recipe
		for _, u := range updates {
			if !strings.HasPrefix(u.Value.Name, before.Name) || len(u.Value.Steps) < len(before.Steps) {
				t.Errorf("%s: %+v came after %+v", name, u.Value, before)
			}
			before = u.Value
		}
	}
}

func TestStream_InvalidEndIsTheSameErrorAsInGenerate(t *testing.T) {
	updates, err := stream[recipe](t, &speaker{text: `{"name":"Soup"}`})
	if llm.KindOf(err) != llm.ErrNoObject {
		t.Errorf("the error is %v", err)
	}
	for _, u := range updates {
		if u.Done {
			t.Error("an update says that the value is done")
		}
	}
}

func TestStream_BrokenCallEndsInItsError(t *testing.T) {
	boom := &llm.Error{Kind: llm.ErrIncomplete}
	updates, err := stream[recipe](t, &speaker{text: soupJSON, err: boom})
	if !errors.Is(err, boom) || len(updates) == 0 {
		t.Errorf("%d updates, error %v", len(updates), err)
	}
}

func TestStream_RetryStartsAfresh(t *testing.T) {
	s := &speaker{text: soupJSON, before: []llm.StreamEvent{llm.TextDelta{Text: `{"name":"Salad","steps":["cut"`}, llm.Retry{Discard: true}}}
	updates, err := stream[recipe](t, s)
	if err != nil || !reflect.DeepEqual(updates[len(updates)-1].Value, soup) {
		t.Fatalf("%+v, %v", updates, err)
	}
	if updates[0].Value.Name != "Salad" {
		t.Errorf("the first update is %+v", updates[0])
	}
}

func TestStream_WrappedValuesGrowToo(t *testing.T) {
	updates, err := stream[[]string](t, &speaker{text: `{"value":["one","two","three"]}`})
	if err != nil || len(updates[len(updates)-1].Value) != 3 || len(updates) < 4 {
		t.Errorf("%+v, %v", updates, err)
	}
}

func TestStream_ConsumerMayLeave(t *testing.T) {
	s := &speaker{text: soupJSON}
	for range object.Stream[recipe](t.Context(), s.client(t), &llm.Request{}) {
		break
	}
}

// Long values are not decoded for every delta.
func TestStream_UpdatesGetRarerAsTheValueGrows(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"name":"Soup","steps":[`)
	for i := range 1000 {
		fmt.Fprintf(&b, `"step %d",`, i)
	}
	b.WriteString(`"eat"]}`)
	updates, err := stream[recipe](t, &speaker{text: b.String()})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(updates); n > 400 {
		t.Errorf("%d updates came for %d bytes", n, b.Len())
	}
}
