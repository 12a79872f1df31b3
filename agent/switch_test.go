package agent

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/reins-agent/reins/event/filestore"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/anthropic"
	"github.com/reins-agent/reins/llm/chat"
	"github.com/reins-agent/reins/llm/gemini"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/llm/openai"
	"github.com/reins-agent/reins/tool"
)

// drawing is a PNG that is unique for each width.
func drawing(t *testing.T, width int) llm.Image {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, 3))); err != nil {
		t.Fatal(err)
	}
	return llm.Image{Media: llm.Media{MIME: "image/png", Data: b.Bytes()}}
}

func inBase64(img llm.Image) string { return base64.StdEncoding.EncodeToString(img.Data) }

// leg is a stretch of a session with one model.
type leg struct {
	dialect, model string
	name           string // part of all its secrets
	secrets        []string
	turns          []llmtest.Turn
}

// secret is an opaque value that only its dialect may ever see again. It is base64, as Gemini requires.
func (l *leg) secret(what string) llm.State {
	s := base64.RawStdEncoding.EncodeToString(fmt.Appendf(nil, "%-24s", l.name+" "+what))
	l.secrets = append(l.secrets, s)
	return llm.State{Dialect: l.dialect, Data: []byte(s)}
}

// busy creates a leg in which the model does everything that its protocol has: thinking that is signed, encrypted or
// redacted, parallel calls, images and errors as results, freeform calls, hosted tools, and arguments that are not
// JSON.
func busy(dialect, model, name string) *leg {
	l := &leg{dialect: dialect, model: model, name: name}
	id := func(n int) string { return fmt.Sprintf("call_%s_%d", name, n) }
	call := func(n int, tool, args string) llm.ToolCall {
		return llm.ToolCall{ID: id(n), Name: tool, Arguments: args}
	}
	first := call(1, "look", `{"text":"a"}`)
	hidden := llm.Thinking{Text: "", State: l.secret("hidden")}
	broken := call(5, "echo", `{"text":"cut o`)
	edit := call(4, "patch", `{"input":"*** Begin Patch"}`)
	switch dialect {
	case gemini.Name:
		first.State = l.secret("call")
		hidden.Text = "Hm."
		broken.Arguments = `{"other":1}` // the API gives no arguments that are not JSON
	case anthropic.Name:
		hidden.Redacted = true
	case openai.Name:
		edit.Custom, edit.Arguments = true, "*** Begin Patch"
	case chat.Name:
		hidden.Text = "Hm."
	}
	l.turns = []llmtest.Turn{
		{Parts: []llm.Part{llm.Thinking{Text: "Let me think.", State: l.secret("thinking")}, text("I look."), first,
			call(2, "echo", `{"text":"b"}`), call(3, "fail", `{"text":"c"}`)}},
		{Parts: append(append([]llm.Part{hidden}, l.hosted()...), edit)},
		{Parts: []llm.Part{llm.Thinking{Text: "Once more.", State: l.secret("again")}, broken}},
		{Parts: []llm.Part{text("Done with " + name + ".")}},
	}
	return l
}

// hosted returns what a hosted tool leaves in an answer.
func (l *leg) hosted() []llm.Part {
	opaque := func(kind, form string) llm.Part {
		s := l.secret(kind)
		s.Data = fmt.Appendf(nil, form, s.Data)
		return llm.Opaque{Kind: kind, State: s}
	}
	switch l.dialect {
	case openai.Name:
		return []llm.Part{opaque("web_search_call", `{"type":"web_search_call","id":"ws_%s","status":"completed","action":{"type":"search","query":"q"}}`)}
	case anthropic.Name:
		return []llm.Part{
			opaque("server_tool_use", `{"type":"server_tool_use","id":"srvtoolu_%s","name":"web_search","input":{"query":"q"}}`),
			opaque("web_search_tool_result", `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_`+l.secrets[len(l.secrets)-1]+`","content":[{"type":"web_search_result","title":"t","url":"https://example.com","encrypted_content":"%s"}]}`),
		}
	case gemini.Name:
		return []llm.Part{
			opaque("executableCode", `{"executableCode":{"language":"PYTHON","code":"print('%s')"}}`),
			opaque("codeExecutionResult", `{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"%s"}}`),
		}
	}
	return nil
}

// trip is a session that goes from leg to leg.
type trip struct {
	*Session
	server *llmtest.Server
	script *llmtest.Script
	shown  llm.Image // by a tool
	config Config
}

func newTrip(t *testing.T, legs []*leg, unary bool) *trip {
	t.Helper()
	var turns []llmtest.Turn
	for _, l := range legs {
		turns = append(turns, l.turns...)
	}
	tr := &trip{script: llmtest.Play(turns...), shown: drawing(t, 5)}
	tr.server = llmtest.NewServer(tr.script)
	t.Cleanup(tr.server.Close)
	look := fake("look", true, func(context.Context, *tool.Call, string) (tool.Result, error) {
		res := tool.Success("a picture")
		res.Images = []llm.Image{tr.shown}
		return res, nil
	})
	fail := fake("fail", true, func(context.Context, *tool.Call, string) (tool.Result, error) {
		return tool.Failure(tool.IOError, "it does not work"), nil
	})
	patch := tool.New(tool.Spec{Name: "patch", Description: "Patches.", Freeform: &llm.Freeform{}}, tool.Nothing,
		func(_ context.Context, _ *tool.Call, in patchIn) (tool.Result, error) {
			return tool.Success("patched"), nil
		})
	store, err := filestore.New(filestore.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	tr.Session = open(t, nil, func(c *Config) {
		c.Client, c.Provider, c.Model, c.Unary = allProviders(t, tr.server), legs[0].dialect, legs[0].model, unary
		c.Effort, c.Store, c.ID = "high", store, "trip"
		with(look, fail, patch)(c)
		tr.config = *c
	})
	return tr
}

// resume continues the session as another process would, with another model.
func (tr *trip) resume(t *testing.T, l *leg) {
	t.Helper()
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	c := tr.config
	c.Provider, c.Model, c.System = l.dialect, l.model, ""
	s, err := Resume(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		checkHistory(t, s)
	})
	tr.Session = s
}

type patchIn struct {
	Input string `json:"input"`
}

// run takes the session through the legs, and returns each leg's request bodies.
func (tr *trip) run(t *testing.T, legs []*leg, change func(*leg)) (bodies [][][]byte) {
	t.Helper()
	for _, l := range legs {
		change(l)
		from := len(tr.server.Bodies())
		out, err := tr.Submit(t.Context(), text("Work as "+l.name+"."), drawing(t, 4))
		if err != nil || out.Status != StatusDone {
			t.Errorf("the leg %s: %+v, %v", l.name, out, err)
		}
		bodies = append(bodies, tr.server.Bodies()[from:])
		if n := len(bodies[len(bodies)-1]); n != len(l.turns) {
			t.Errorf("the leg %s took %d calls instead of %d", l.name, n, len(l.turns))
		}
	}
	for _, v := range tr.server.Violations() {
		t.Errorf("the server refused a request: %v", v)
	}
	return bodies
}

// TestSwitch_ProviderInMidSessionInAllPairs switches from each protocol to each other and back.
func TestSwitch_ProviderInMidSessionInAllPairs(t *testing.T) {
	for _, a := range protocols {
		for _, b := range protocols {
			if a.Name() == b.Name() {
				continue
			}
			for _, unary := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s to %s unary %v", a.Name(), b.Name(), unary), func(t *testing.T) {
					legs := []*leg{busy(a.Name(), a.model, "first"), busy(b.Name(), b.model, "second"), busy(a.Name(), a.model, "third")}
					tr := newTrip(t, legs, unary)
					bodies := tr.run(t, legs, func(l *leg) { tr.SetModel(l.dialect, l.model) })
					checkSecrets(t, legs, bodies)
					checkImages(t, tr, bodies)
				})
			}
		}
	}
}

// checkSecrets checks that a leg's opaque values were sent back to its model, in the same leg and in later ones, and to
// no other.
func checkSecrets(t *testing.T, legs []*leg, bodies [][][]byte) {
	t.Helper()
	for i, of := range legs {
		for j, to := range legs {
			mine := of.dialect == to.dialect && of.model == to.model
			for n, body := range bodies[j] {
				for _, s := range of.secrets {
					sent := bytes.Contains(body, []byte(s))
					last := j > i || n == len(bodies[j])-1
					if sent && !mine {
						t.Errorf("request %d of the leg %s holds a secret of the leg %s", n, to.name, of.name)
					}
					if mine && j >= i && last && !sent {
						plain, _ := base64.RawStdEncoding.DecodeString(s)
						t.Errorf("request %d of the leg %s does not hold %q, which is the same model's", n, to.name, plain)
					}
				}
			}
		}
	}
}

// checkImages checks that every model sees all pictures in the conversation.
func checkImages(t *testing.T, tr *trip, bodies [][][]byte) {
	t.Helper()
	for i, leg := range bodies {
		last := string(leg[len(leg)-1])
		if got := strings.Count(last, inBase64(tr.shown)); got != i+1 {
			t.Errorf("leg %d: a tool's picture is sent %d times", i, got)
		}
		if got := strings.Count(last, inBase64(drawing(t, 4))); got != i+1 {
			t.Errorf("leg %d: the user's picture is sent %d times", i, got)
		}
	}
}

// TestSwitch_ResumeWithAnotherProvider switches from each protocol to each other and back, through a saved session.
func TestSwitch_ResumeWithAnotherProvider(t *testing.T) {
	for _, a := range protocols {
		for _, b := range protocols {
			if a.Name() == b.Name() {
				continue
			}
			t.Run(fmt.Sprintf("%s to %s", a.Name(), b.Name()), func(t *testing.T) {
				legs := []*leg{busy(a.Name(), a.model, "first"), busy(b.Name(), b.model, "second"), busy(a.Name(), a.model, "third")}
				tr := newTrip(t, legs, false)
				bodies := tr.run(t, legs, func(l *leg) { tr.resume(t, l) })
				checkSecrets(t, legs, bodies)
				checkImages(t, tr, bodies)
			})
		}
	}
}

// TestSwitch_ModelWithinProvider switches to another model with the same protocol and back: one model's opaque values
// are not sent to the other.
func TestSwitch_ModelWithinProvider(t *testing.T) {
	siblings := map[string]string{openai.Name: "gpt-5", anthropic.Name: "claude-sonnet-4-5", gemini.Name: "gemini-2.5-pro", chat.Name: "gpt-4.1"}
	for _, d := range protocols {
		t.Run(d.Name(), func(t *testing.T) {
			legs := []*leg{busy(d.Name(), d.model, "first"), busy(d.Name(), siblings[d.Name()], "second"), busy(d.Name(), d.model, "third")}
			tr := newTrip(t, legs, false)
			bodies := tr.run(t, legs, func(l *leg) { tr.SetModel(l.dialect, l.model) })
			checkSecrets(t, legs, bodies)
			checkImages(t, tr, bodies)
		})
	}
}

// TestSwitch_CallIDsOfOtherServers sends a conversation to all protocols with call ids as some servers make them: the
// same in every answer, long, or with characters of all kinds.
func TestSwitch_CallIDsOfOtherServers(t *testing.T) {
	for name, id := range map[string]func(turn, call int) string{
		"counted per answer": func(_, call int) string { return fmt.Sprintf("call_%d", call) },
		"long":               func(turn, call int) string { return strings.Repeat("x", 80) + fmt.Sprintf("_%d_%d", turn, call) },
		"with colons":        func(turn, call int) string { return fmt.Sprintf("functions.echo:%d", 2*turn+call) },
		"alike":              func(turn, call int) string { return fmt.Sprintf("functions%cecho%d", ".:"[call%2], turn) },
	} {
		for _, a := range protocols {
			t.Run(name+" "+a.Name(), func(t *testing.T) {
				var legs []*leg
				for turn := range 3 {
					echo := func(call int) llm.Part {
						return llm.ToolCall{ID: id(turn, call), Name: "echo", Arguments: fmt.Sprintf(`{"text":"%d %d"}`, turn, call)}
					}
					legs = append(legs, &leg{dialect: a.Name(), model: a.model, turns: []llmtest.Turn{{Parts: []llm.Part{echo(0), echo(1)}}, llmtest.Say("Done.")}})
				}
				for _, d := range protocols {
					legs = append(legs, &leg{dialect: d.Name(), model: d.model, turns: []llmtest.Turn{echoCall(d.Name()), llmtest.Say("Done.")}})
				}
				tr := newTrip(t, legs, false)
				tr.run(t, legs, func(l *leg) { tr.SetModel(l.dialect, l.model) })
			})
		}
	}
}
