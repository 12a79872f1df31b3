package localtest

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reins-agent/reins/agent"
	"github.com/reins-agent/reins/coding"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/connect"
)

// Ollama drops the beginning of a prompt that is longer than the window, by default 4096 tokens, and reports only the
// remaining tokens.
func TestWindow_TruncationIsReported(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p protocol) {
		dir, _ := project(t)
		args := append([]string{"run", "--yes", "--max-rounds", "2", "--output", "stream-json"}, p.flags(shared, "edit-default")...)
		events, result := runReins(t, dir, append(args, task)...).records(t)
		said := ""
		for _, e := range events {
			if e.Kind == "WARNING" || e.Kind == "ERROR" {
				said += string(e.Data)
			}
		}
		if !strings.Contains(said, "read only 4096 tokens") || !strings.Contains(said, "num_ctx") && !strings.Contains(said, "OLLAMA_CONTEXT_LENGTH") {
			t.Errorf("the outcome is %q, and neither a warning nor an error names the window and how to raise it: %s", result.Outcome, said)
		}
	})
}

func TestWindow_IsAskedFromTheServer(t *testing.T) {
	dir, _ := project(t)
	args := append([]string{"run", "--yes", "--output", "stream-json"}, protocols[0].flags(shared, "edit")...)
	events, _ := runReins(t, dir, append(args, task)...).records(t)
	for _, e := range events {
		if strings.Contains(string(e.Data), `"context_window":32768`) {
			return
		}
	}
	t.Error("no record has the window that the server uses, 32768")
}

// Ollama swallows a call to a tool that does not exist: the answer is empty, with 20 output tokens.
func TestSwallowedCall_IsNotSuccess(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p protocol) {
		dir, _ := project(t)
		args := append([]string{"run", "--yes", "--output", "stream-json"}, p.flags(shared, "swallowed")...)
		out := runReins(t, dir, append(args, task)...)
		if _, result := out.records(t); result.Outcome == "done" || out.code == 0 || result.Error == nil || result.Error.Message == "" {
			t.Errorf("got outcome %q and code %d, want a failure with a message", result.Outcome, out.code)
		}
	})
}

func TestInlineThinking_IsSeparated(t *testing.T) {
	dir, _ := project(t)
	args := append([]string{"run", "--output", "stream-json"}, protocols[0].flags(shared, "inline")...)
	events, result := runReins(t, dir, append(args, "What is two and two?")...).records(t)
	if result.Text != "It is four." || number(events, "REASONING_DELTA") == 0 {
		t.Errorf("got text %q and %d parts of reasoning", result.Text, number(events, "REASONING_DELTA"))
	}
}

func TestMaxOutput_EndsAnEndlessAnswer(t *testing.T) {
	catalogue := filepath.Join(t.TempDir(), "models.json")
	entry := `{"models":[{"id":"endless","provider":"local","name":"Endless","context_window":32768,"max_output":50,"tools":true}]}`
	if err := os.WriteFile(catalogue, []byte(entry), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"ask", "--json", "--catalogue", catalogue}, protocols[0].flags(shared, "endless")...)
	if got := runReins(t, t.TempDir(), append(args, "Go on.")...).answer(t); got.Usage.Output != 50 || got.Finish.Reason != "length" {
		t.Errorf("ask got %d tokens and finish %q, want 50 and length", got.Usage.Output, got.Finish.Reason)
	}
	dir, _ := project(t)
	args = append([]string{"run", "--output", "stream-json", "--catalogue", catalogue}, protocols[0].flags(shared, "endless")...)
	out := runReins(t, dir, append(args, task)...)
	if _, result := out.records(t); result.Outcome != "cut_off" || out.code != 3 {
		t.Errorf("run got outcome %q and code %d, want cut_off and 3", result.Outcome, out.code)
	}
}

func TestBaseURL_WithoutVersionIsCompletedOrExplained(t *testing.T) {
	for _, provider := range []string{"chat", "local", "openai"} {
		t.Run(provider, func(t *testing.T) {
			out := runReins(t, t.TempDir(), "ask", "--provider", provider, "--base-url", shared.url(""), "--model", "text", "Hello?")
			if strings.TrimSpace(out.stdout) != greeting && !strings.Contains(out.stderr, shared.url("/v1")) {
				t.Errorf("got %q and %q, want the answer or the right URL", out.stdout, out.stderr)
			}
		})
	}
}

// Ollama ignores images if the model cannot see them, and answers as if nothing happened.
func TestImage_IsNotSentToAModelWithoutVision(t *testing.T) {
	dir, _ := project(t)
	var sent recorder
	session, err := coding.Open(t.Context(), coding.Config{
		Provider: "local", Model: "text", Dir: dir, State: t.TempDir(),
		Connect: connect.Config{BaseURL: shared.url("/v1"), HTTPClient: &http.Client{Transport: &sent}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	out, err := session.Submit(t.Context(), llm.Text{Text: "What is this?"}, llm.Image{Media: llm.Media{MIME: "image/png", Data: picture}})
	if sent.contains("image_url") {
		t.Error("the image was sent to a model that cannot see")
	}
	if err == nil && !sent.contains("image") {
		t.Errorf("got outcome %q, %q: nobody was told that the model cannot see the image", out.Status, out.Text)
	}
	if err == nil && out.Status != agent.StatusDone {
		t.Errorf("got outcome %q without an error", out.Status)
	}
}
