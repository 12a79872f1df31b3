package agent

import (
	"context"
	"testing"
	"time"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/tool"
)

func TestSession_TimeoutsChangeBetweenTwoCalls(t *testing.T) {
	var seen []tool.Timeouts
	look := tool.New(tool.Spec{Name: "look"}, tool.Nothing, func(_ context.Context, c *tool.Call, _ struct{}) (tool.Result, error) {
		seen = append(seen, c.Timeouts)
		return tool.Result{}, nil
	})
	script := llmtest.Play(llmtest.Call("look", "{}"), llmtest.Say("one"), llmtest.Call("look", "{}"), llmtest.Say("two"))
	s := open(t, script, func(c *Config) {
		c.Timeouts.Default = time.Second
		if err := c.Tools.Register(look); err != nil {
			t.Fatal(err)
		}
	})
	for range 2 {
		if _, err := s.Submit(t.Context(), llm.Text{Text: "go"}); err != nil {
			t.Fatal(err)
		}
		if err := s.SetTimeouts(tool.Timeouts{Default: time.Minute, Max: time.Hour}); err != nil {
			t.Fatal(err)
		}
	}
	want := []tool.Timeouts{{Default: time.Second}, {Default: time.Minute, Max: time.Hour}}
	if len(seen) != 2 || seen[0] != want[0] || seen[1] != want[1] {
		t.Errorf("the tool saw %v", seen)
	}
}
