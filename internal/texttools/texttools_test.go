package texttools

import (
	"context"
	"encoding/json"
	"iter"
	"reflect"
	"strings"
	"testing"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
	"pgregory.net/rapid"
)

var textTools = []llm.ToolDef{
	{Name: "get_weather", Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}}}`)},
	{Name: "run"},
}

// speak returns a provider that answers with a text in these pieces.
func speak(pieces []string) llm.StreamFunc {
	return func(_ context.Context, r *llm.Request) iter.Seq2[llm.StreamEvent, error] {
		return func(yield func(llm.StreamEvent, error) bool) {
			a := wire.NewAssembler("test", r.Model, func(ev llm.StreamEvent) bool { return yield(ev, nil) })
			a.Start("resp_1", "m")
			t := a.BeginText()
			for _, p := range pieces {
				a.Delta(t, p)
			}
			a.End(t)
			a.Finish(llm.FinishStop, "stop")
		}
	}
}

type recovered struct {
	text   string // text in the deltas
	whole  *llm.Response
	events []llm.StreamEvent
}

func recoverCalls(pieces []string) recovered {
	var out recovered
	r := &llm.Request{Model: "m", Tools: textTools, Messages: []llm.Message{llm.UserText("hi")}}
	for ev, err := range Recover(speak(pieces))(context.Background(), r) {
		if err != nil {
			panic(err)
		}
		out.events = append(out.events, ev)
		switch ev := ev.(type) {
		case llm.TextDelta:
			out.text += ev.Text
		case llm.Finish:
			out.whole = ev.Response
		}
	}
	return out
}

const sunny = `{"city": "Köln", "days": 3}`

var printedCalls = map[string]string{
	"hermes":             "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": " + sunny + "}\n</tool_call>",
	"hermes, unclosed":   "<tool_call>{\"name\": \"get_weather\", \"arguments\": " + sunny + "}\n",
	"hermes, list":       "<tool_call>[{\"name\": \"get_weather\", \"arguments\": " + sunny + "}]</tool_call>",
	"function json":      "<function=get_weather>" + sunny + "</function>",
	"qwen coder":         "<tool_call>\n<function=get_weather>\n<parameter=city>\nKöln\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>",
	"function tags":      "<function=get_weather><parameter=city>Köln</parameter><parameter=days>3</parameter></function>",
	"invoke":             "<invoke name=\"get_weather\">\n<parameter name=\"city\">Köln</parameter>\n<parameter name=\"days\">3</parameter>\n</invoke>",
	"invoke, wrapped":    "<function_calls>\n<invoke name=\"get_weather\"><parameter name=\"city\">Köln</parameter><parameter name=\"days\">3</parameter></invoke>\n</function_calls>",
	"invoke, namespace":  "<" + anthropic + "function_calls><" + anthropic + "invoke name=\"get_weather\"><" + anthropic + "parameter name=\"city\">Köln</" + anthropic + "parameter><" + anthropic + "parameter name=\"days\">3</" + anthropic + "parameter></" + anthropic + "invoke></" + anthropic + "function_calls>",
	"minimax":            "<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">Köln</parameter>\n<parameter name=\"days\">3</parameter>\n</invoke>\n</minimax:tool_call>",
	"deepseek dsml":      "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"get_weather\">\n<｜DSML｜parameter name=\"city\" string=\"true\">Köln</｜DSML｜parameter>\n<｜DSML｜parameter name=\"days\" string=\"false\">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
	"deepseek":           "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>" + sunny + "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
	"deepseek, older":    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n" + sunny + "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
	"kimi":               "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>" + sunny + "<|tool_call_end|><|tool_calls_section_end|>",
	"glm":                "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Köln</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
	"mistral":            "[TOOL_CALLS][{\"name\": \"get_weather\", \"arguments\": " + sunny + "}]",
	"mistral, named":     "[TOOL_CALLS]get_weather[ARGS]" + sunny,
	"mistral, bare name": "[TOOL_CALLS]get_weather" + sunny,
	"llama":              "<|python_tag|>{\"name\": \"get_weather\", \"parameters\": " + sunny + "}",
	"fenced":             "```json\n{\"name\": \"get_weather\", \"arguments\": " + sunny + "}\n```",
	"bare":               "{\"name\": \"get_weather\", \"parameters\": " + sunny + "}",
	"bare, openai":       "{\"type\": \"function\", \"function\": {\"name\": \"get_weather\", \"arguments\": " + sunny + "}}",
	"bare, list":         " [{\"name\": \"get_weather\", \"arguments\": " + sunny + "}]\n",
	"arguments as text":  "<tool_call>{\"name\":\"get_weather\",\"arguments\":\"{\\\"city\\\": \\\"Köln\\\", \\\"days\\\": 3}\"}</tool_call>",
}

func TestRecover_EveryFormInEveryChunking(t *testing.T) {
	for name, text := range printedCalls {
		bare := strings.HasPrefix(name, "bare")
		for _, around := range []string{"", "Let me look.\n\n"} {
			if bare && around != "" {
				continue
			}
			for size := 1; size <= len(text); size++ {
				checkRecovered(t, name, around, pieces(around+text, size))
			}
		}
	}
}

func checkRecovered(t *testing.T, name, before string, in []string) {
	t.Helper()
	got := recoverCalls(in)
	calls := got.whole.ToolCalls()
	if len(calls) != 1 || calls[0].Name != "get_weather" || !sameJSON(calls[0].Arguments, sunny) {
		t.Fatalf("%s in %d pieces: got calls %v and text %q, want one call of get_weather", name, len(in), calls, got.text)
	}
	if got.text != before || got.whole.Text() != before {
		t.Fatalf("%s in %d pieces: got deltas %q and text %q, want %q", name, len(in), got.text, got.whole.Text(), before)
	}
	if got.whole.Finish != (llm.FinishInfo{Reason: llm.FinishToolCalls, Raw: "stop"}) || calls[0].ID == "" {
		t.Fatalf("%s: got finish %v and id %q, want tool calls and an id", name, got.whole.Finish, calls[0].ID)
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

func pieces(s string, size int) []string {
	var out []string
	for len(s) > size {
		out, s = append(out, s[:size]), s[size:]
	}
	return append(out, s)
}

func TestRecover_TextAndCallsKeepTheirOrder(t *testing.T) {
	text := "First:\n" + printedCalls["hermes"] + "\n" + printedCalls["function json"] + "\nThen more <b>text</b>, and {\"name\": \"get_weather\"}.\n"
	for size := 1; size <= len(text); size++ {
		got := recoverCalls(pieces(text, size))
		var shape []string
		for _, p := range got.whole.Message.Parts {
			switch p := p.(type) {
			case llm.Text:
				shape = append(shape, p.Text)
			case llm.ToolCall:
				shape = append(shape, p.Name)
			}
		}
		want := []string{"First:\n", "get_weather", "get_weather", "\nThen more <b>text</b>, and {\"name\": \"get_weather\"}.\n"}
		if !reflect.DeepEqual(shape, want) {
			t.Fatalf("in pieces of %d: got %q, want %q", size, shape, want)
		}
		if ids := got.whole.ToolCalls(); ids[0].ID == ids[1].ID {
			t.Fatal("two calls have the same id")
		}
	}
}

var notCalls = []string{
	"plain text", "", " ", "\n\n", "<", "a < b and b > c", "[1, 2, 3]", "{", "{}", "```go\nfunc main() {}\n```\n",
	"<tool_call>{\"name\": \"unknown\", \"arguments\": {}}</tool_call>",
	"<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": ", // truncated
	"<tool_call>broken</tool_call>", "<function=unknown>{}</function>", "<function=get_weather>",
	"<invoke name=\"other\"></invoke>", "<invoke name=\"get_weather\"><parameter name=\"city\">Ber",
	"[TOOL_CALLS]", "[TOOL_CALLS][{\"name\":\"nope\",\"arguments\":{}}]", "<|python_tag|>get_weather.call(city=1)",
	"```json\n{\"name\": \"get_weather\"}\n```", "{\"name\": \"get_weather\"}", "{\"name\": \"x\", \"arguments\": {}}",
	"{\"name\": \"get_weather\", \"arguments\": {}} and more", "{\"city\": \"Köln\", \"country\": \"Germany\"}",
	"say {\"name\": \"get_weather\", \"arguments\": {}}", "<tool_calls></tool_calls>",
	"<｜tool▁calls▁begin｜>x", "<|tool_call_begin|>functions.nope:1<|tool_call_argument_begin|>{}<|tool_call_end|>",
	"<tool_call>\n<function=nope>\n</function>\n</tool_call>", "<tool_call>nope\n<arg_key>a</arg_key></tool_call>",
}

func TestRecover_OtherTextStaysTheSameInEveryChunking(t *testing.T) {
	for _, text := range notCalls {
		for size := 1; size <= max(1, len(text)); size++ {
			checkUnchanged(t, text, pieces(text, size))
		}
	}
}

func checkUnchanged(t interface{ Fatalf(string, ...any) }, text string, in []string) {
	got := recoverCalls(in)
	if got.text != text || got.whole.Text() != text || len(got.whole.ToolCalls()) != 0 || got.whole.Finish.Reason != llm.FinishStop {
		t.Fatalf("%q in %d pieces became %q and %v", text, len(in), got.text, got.whole.ToolCalls())
	}
}

// outcome returns the message and the finish for a text in pieces.
func outcome(in []string) string {
	got := recoverCalls(in)
	b, _ := json.Marshal(got.whole.Message)
	return string(b) + string(got.whole.Finish.Reason)
}

func TestRecover_ChunkingDoesNotMatter(t *testing.T) {
	var words []string
	for _, text := range printedCalls {
		words = append(words, text, text[:len(text)/2], text[len(text)/2:])
	}
	words = append(words, notCalls...)
	for i := range forms {
		words = append(words, forms[i].marker)
	}
	for i := range wrappers {
		words = append(words, wrappers[i].open, wrappers[i].close)
	}
	words = append(words, ";", "\n", "</tool_call>", "{\"name\":\"run\",\"arguments\":{}}", "run", "{}")
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 5).Draw(t, "words"), "")
		var in []string
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, min(len(rest), 40)).Draw(t, "n")
			in, rest = append(in, rest[:n]), rest[n:]
		}
		if got, want := outcome(in), outcome([]string{text}); got != want {
			t.Fatalf("%q: got\n%s\nin pieces, want\n%s\nas in one", text, got, want)
		}
	})
}

func FuzzRecover(f *testing.F) {
	for _, text := range printedCalls {
		f.Add(text, 3)
	}
	for _, text := range notCalls {
		f.Add(text, 2)
	}
	f.Fuzz(func(t *testing.T, text string, size int) {
		if size < 1 || size > 64 || len(text) > 4096 {
			return
		}
		text = strings.ToValidUTF8(text, "?")
		if got, want := outcome(pieces(text, size)), outcome([]string{text}); got != want {
			t.Fatalf("%q in pieces of %d: %s, want %s", text, size, got, want)
		}
		if got := recoverCalls([]string{text}); len(got.whole.ToolCalls()) == 0 && got.text != text {
			t.Fatalf("%q became %q", text, got.text)
		}
	})
}

func TestRecover_WithoutToolsTextStaysTheSame(t *testing.T) {
	text := printedCalls["hermes"]
	resp, err := llm.Collect(Recover(speak([]string{text}))(context.Background(), &llm.Request{Model: "m"}))
	if err != nil || resp.Text() != text {
		t.Fatalf("got %v, error %v; want the text unchanged", resp, err)
	}
}

func TestRecover_HoldsTextBackFromAMarkerOnly(t *testing.T) {
	r := &llm.Request{Model: "m", Tools: textTools}
	f := newFilter(r, func(llm.StreamEvent) bool { return true })
	f.event(llm.TextStart{})
	for _, step := range []struct{ in, held string }{{"Hello", ""}, {" <", "<"}, {"b>", ""}, {" <tool_call>{", "<tool_call>{"}} {
		f.event(llm.TextDelta{Text: step.in})
		if held := f.part(0).scan.held + string(f.part(0).scan.late); held != step.held {
			t.Fatalf("after %q: held %q, want %q", step.in, held, step.held)
		}
	}
}

func TestScan_GivesUpOnHostileText(t *testing.T) {
	text := printedCalls["hermes"]
	for effort, want := range map[int]int{64 << 20: 1, 64<<20 + 1: 0} {
		s := scan{finder: newFinder(textTools), effort: effort}
		s.feed(text)
		if _, calls, ok := s.next(true); !ok || len(calls) != want {
			t.Errorf("after %d bytes: got %d calls, want %d", effort, len(calls), want)
		}
	}
}
