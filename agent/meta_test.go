package agent

import (
	"context"
	"testing"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/tool"
)

func TestMeta_TellsOfASessionThatIsStillAtItsFirstInput(t *testing.T) {
	store := &event.Memory{}
	var seen event.Meta
	look := fake("look", true, func(ctx context.Context, _ *tool.Call, _ string) (tool.Result, error) {
		var err error
		seen, err = store.Meta(ctx, "life")
		return tool.Success("seen"), err
	})
	s := open(t, llmtest.Play(calls("look"), llmtest.Say("Done.")), func(c *Config) {
		c.ID, c.Store = "life", store
		with(look)(c)
	})
	submit(t, s, "What is there?")
	if seen.Turns != 1 || seen.Prompt != "What is there?" || seen.Usage.Output == 0 {
		t.Errorf(`got %+v, want Turns 1, Prompt "What is there?", Usage.Output not 0`, seen)
	}
}
