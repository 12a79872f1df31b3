package conformance

import (
	"errors"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
)

func TestVerified_RefusesStreamsAgainstTheGrammar(t *testing.T) {
	start, text, delta := llm.Start{}, llm.TextStart{}, llm.TextDelta{Text: "a"}
	end := llm.TextEnd{Text: llm.Text{Text: "a"}}
	finish := llm.Finish{Response: &llm.Response{Finish: llm.FinishInfo{Reason: llm.FinishStop}}}
	truncated := llm.Finish{Response: &llm.Response{Finish: llm.FinishInfo{Reason: llm.FinishLength}}}
	failure := errors.New("failure")
	for name, c := range map[string]struct {
		events []llm.StreamEvent
		err    error
		want   string
	}{
		"valid":               {[]llm.StreamEvent{start, text, delta, end, finish}, nil, ""},
		"truncated":           {[]llm.StreamEvent{start, text, delta, truncated}, nil, ""},
		"failed":              {[]llm.StreamEvent{start}, failure, "failure"},
		"failed after Finish": {[]llm.StreamEvent{start, finish}, failure, "after Finish"},
		"no Start":            {[]llm.StreamEvent{text, delta, end, finish}, nil, "before Start"},
		"two Starts":          {[]llm.StreamEvent{start, start, finish}, nil, "second Start"},
		"part started twice":  {[]llm.StreamEvent{start, text, text, finish}, nil, "started twice"},
		"part not started":    {[]llm.StreamEvent{start, delta, finish}, nil, "not open"},
		"part ended twice":    {[]llm.StreamEvent{start, text, delta, end, end, finish}, nil, "not open"},
		"part not ended":      {[]llm.StreamEvent{start, text, delta, finish}, nil, "not ended"},
		"another text":        {[]llm.StreamEvent{start, text, end, finish}, nil, "ended as"},
		"no Finish":           {[]llm.StreamEvent{start, text, delta, end}, nil, "without Finish"},
		"two Finishes":        {[]llm.StreamEvent{start, finish, finish}, nil, "after Finish"},
	} {
		_, err := verified(func(yield func(llm.StreamEvent, error) bool) {
			for _, ev := range c.events {
				if !yield(ev, nil) {
					return
				}
			}
			if c.err != nil {
				yield(nil, c.err)
			}
		})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want one with %q", name, err, c.want)
		}
	}
}
