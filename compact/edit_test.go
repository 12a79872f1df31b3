package compact

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
)

// small returns a conversation with every kind of message and part that edits treat differently.
func small() []llm.Message {
	call := llm.ToolCall{ID: "1", Name: "read_file", Arguments: "{}"}
	return []llm.Message{
		llm.SystemText("Be good."),
		{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "Look."}, pixel}},
		{Role: llm.RoleAssistant, Parts: []llm.Part{call}},
		llm.ToolResults(llm.TextResult(call, "content", true)),
		llm.AssistantText("Done."),
		llm.UserText("Thanks."),
	}
}

func TestEdit_ApplyClearsAndReplaces(t *testing.T) {
	before := small()
	got, err := Edit{Cleared: []Cleared{{1, 1, "[image]"}, {3, 0, "[gone]"}}}.Apply(before)
	if err != nil {
		t.Fatal(err)
	}
	r := got[3].Parts[0].(llm.ToolResult)
	if r.ID != "1" || r.Name != "read_file" || !r.IsError || r.Text() != "[gone]" || got[1].Text() != "Look.[image]" {
		t.Errorf("got %+v, want the image and the result replaced", got)
	}
	if &got[2].Parts[0] != &before[2].Parts[0] {
		t.Error("an unchanged message is not shared")
	}
	if !reflect.DeepEqual(before, small()) {
		t.Error("the given messages were changed")
	}
	got, err = Edit{Replaced: 3, Messages: []llm.Message{llm.UserText("Summary.")}}.Apply(before)
	if err != nil || len(got) != 4 || got[0].Text() != "Be good." || got[1].Text() != "Summary." || got[2].Text() != "Done." {
		t.Errorf("got %+v and error %v, want three messages replaced by one", got, err)
	}
}

func TestEdit_ThatDoesNotFitIsAnError(t *testing.T) {
	user := []llm.Message{llm.UserText("x")}
	for name, e := range map[string]Edit{
		"too many replaced":   {Replaced: 6, Messages: user},
		"negative":            {Replaced: -1, Messages: user},
		"replaced by nothing": {Replaced: 1},
		"nothing replaced":    {Messages: user},
		"separates a result":  {Replaced: 2, Messages: user},
		"empty message":       {Replaced: 1, Messages: []llm.Message{{Role: llm.RoleUser}}},
		"inserts an answer":   {Replaced: 1, Messages: []llm.Message{llm.AssistantText("x")}},
		"clears instructions": {Cleared: []Cleared{{0, 0, "x"}}},
		"clears text":         {Cleared: []Cleared{{1, 0, "x"}}},
		"clears a call":       {Cleared: []Cleared{{2, 0, "x"}}},
		"clears beyond":       {Cleared: []Cleared{{6, 0, "x"}}},
		"no such part":        {Cleared: []Cleared{{3, 1, "x"}}},
		"negative part":       {Cleared: []Cleared{{3, -1, "x"}}},
		"clears with nothing": {Cleared: []Cleared{{3, 0, ""}}},
		"clears twice":        {Cleared: []Cleared{{3, 0, "x"}, {3, 0, "y"}}},
		"out of order":        {Cleared: []Cleared{{3, 0, "x"}, {1, 1, "y"}}},
		"clears and replaces": {Cleared: []Cleared{{1, 1, "x"}}, Replaced: 3, Messages: user},
	} {
		before := small()
		if got, err := e.Apply(before); err == nil || !strings.HasPrefix(err.Error(), "compact: ") || got != nil {
			t.Errorf("%s: got %v and error %v, want only an error", name, got, err)
		}
		if !reflect.DeepEqual(before, small()) {
			t.Errorf("%s: the given messages were changed", name)
		}
	}
}

func FuzzEdit_Apply(f *testing.F) {
	f.Add(0, 3, 0, "gone", 1, 1, "x")
	f.Add(3, 5, 0, "gone", -1, 0, "")
	f.Fuzz(func(t *testing.T, replaced, message1, part1 int, text1 string, message2, part2 int, text2 string) {
		e := Edit{Replaced: replaced, Cleared: []Cleared{{message1, part1, text1}, {message2, part2, text2}}}
		if replaced != 0 {
			e.Messages = []llm.Message{llm.UserText("summary")}
		}
		before := small()
		a, errA := e.Apply(before)
		b, errB := e.Apply(slices.Clone(before))
		if !reflect.DeepEqual(a, b) || (errA == nil) != (errB == nil) {
			t.Fatal("the same edit gives different results")
		}
		if !reflect.DeepEqual(before, small()) {
			t.Fatal("the given messages were changed")
		}
		if errA == nil {
			if err := wellFormed(a); err != nil {
				t.Fatal(err)
			}
		}
	})
}
