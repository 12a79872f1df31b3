package agent

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/internal/media"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/tool"
)

// TestQuarantine_OneBadItemCostsOneItem makes the provider refuse one item in the history after the other. The session
// continues without it, and reports that.
func TestQuarantine_OneBadItemCostsOneItem(t *testing.T) {
	mine, its := drawing(t, 5), drawing(t, 7)
	look := fake("look", true, func(_ context.Context, _ *tool.Call, text string) (tool.Result, error) {
		res := tool.Success("BAD-RESULT")
		if text == "its" {
			res = tool.Success("a picture")
			res.Images = []llm.Image{its}
		}
		return res, nil
	})
	for what, poison := range map[string]string{
		"an image": string(mine.Data), "an image of a tool": string(its.Data), "a tool result": "BAD-RESULT", "a text": "BAD-TEXT",
	} {
		t.Run(what, func(t *testing.T) {
			overHTTP(t, func() *llmtest.Script {
				return &llmtest.Script{Reply: func(n int, r *llm.Request) llmtest.Turn {
					switch n {
					case 0:
						return llmtest.Turn{Parts: []llm.Part{llm.ToolCall{Name: "look", Arguments: `{"text":"its"}`}, llm.ToolCall{Name: "look", Arguments: `{"text":"mine"}`}}}
					case 1:
						return llmtest.Say("I have looked.")
					}
					return llmtest.Say("Well.")
				}}
			}, func(t *testing.T, s *Session, script *llmtest.Script) {
				if _, err := s.Submit(t.Context(), text("See: BAD-TEXT"), mine); err != nil {
					t.Fatal(err)
				}
				script.Poison = poison
				if out := submit(t, s, "And?"); out.Text != "Well." {
					t.Fatalf(`got %+v, want Text "Well."`, out)
				}
				q := records[event.Quarantine](s)
				if len(q) != 1 || !strings.HasPrefix(what, q[0].What) || !strings.Contains(q[0].Reason, "400") {
					t.Fatalf(`got %+v, want 1, [0].What beginning %s, [0].Reason with "400"`, q, what)
				}
				if b := records[event.CacheBroken](s); len(b) != 1 {
					t.Errorf("got %+v, want 1", b)
				}
				submit(t, s, "Still?")
				if n := len(records[event.Quarantine](s)); n != 1 {
					t.Errorf("%d things are in quarantine", n)
				}
			}, with(look))
		})
	}
}

func TestQuarantine_IsTriedOncePerCall(t *testing.T) {
	script := llmtest.Play(llmtest.Say("never"))
	script.Poison = "BAD"
	s := open(t, script, nil)
	_, err := s.Submit(t.Context(), text("BAD one"), text("BAD two"))
	if llm.KindOf(err) != llm.ErrInvalidRequest {
		t.Fatalf("%v", err)
	}
	if n := len(script.Requests()); n != 2 {
		t.Errorf("%d requests", n)
	}
	if _, err := s.Submit(t.Context(), text("go on")); err != nil {
		t.Errorf("the session is stuck: %v", err)
	}
}

func TestIngest_ImagesAreMadeFitAndFilesRead(t *testing.T) {
	large := drawing(t, 9000)
	large.MIME = "image/jpeg" // a wrong type
	file := filepath.Join(t.TempDir(), "a.png")
	if err := os.WriteFile(file, drawing(t, 4).Data, 0o600); err != nil {
		t.Fatal(err)
	}
	script := llmtest.Play(llmtest.Say("Nice."))
	s := open(t, script, nil)
	if _, err := s.Submit(t.Context(), text("look"), large, llm.Image{Media: llm.Media{Path: file}}); err != nil {
		t.Fatal(err)
	}
	parts := script.Requests()[0].Messages[1].Parts
	img := parts[1].(llm.Image)
	if mime := media.Detect(img.Data); mime != img.MIME || len(img.Data) == len(large.Data) {
		t.Errorf("it is %s and called %s", mime, img.MIME)
	}
	if read := parts[2].(llm.Image); len(read.Data) == 0 || read.Path != "" {
		t.Errorf(`got %+v, want length of Data not 0, Path ""`, read)
	}
	if _, err := s.Submit(t.Context(), text("look"), llm.Image{Media: llm.Media{Data: []byte("no image")}}); err == nil || !strings.Contains(err.Error(), "part 2") {
		t.Errorf("%v", err)
	}
	if n := len(records[event.UserInput](s)); n != 1 {
		t.Errorf("what was refused is in the log: %d inputs", n)
	}
}
