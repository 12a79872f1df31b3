package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm"
)

// rawResponse is a response read with encoding/json alone.
type rawResponse struct {
	ID     string            `json:"id"`
	Status string            `json:"status"`
	Output []json.RawMessage `json:"output"`
	done   []json.RawMessage // the items as they were when they were done
	Usage  struct {
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
		In     struct {
			Cached  int64 `json:"cached_tokens"`
			Written int64 `json:"cache_write_tokens"`
		} `json:"input_tokens_details"`
		Out struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	} `json:"usage"`
}

type rawItem struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments any    `json:"arguments"`
	Input     string `json:"input"`
	Action    any    `json:"action"`
	Content   []struct {
		Type, Text, Refusal string
	} `json:"content"`
}

// rawOf reads a recorded body: a stream's last response, with the completed items if it has none itself.
func rawOf(t *testing.T, x interaction) rawResponse {
	t.Helper()
	var resp rawResponse
	body := x.response()
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		if err := json.Unmarshal(body, &resp); err != nil {
			t.Fatal(x.ID, err)
		}
		return resp
	}
	var done []json.RawMessage
	for line := range strings.Lines(string(body)) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data:")
		if !ok {
			continue
		}
		var ev struct {
			Type     string          `json:"type"`
			Item     json.RawMessage `json:"item"`
			Response *rawResponse    `json:"response"`
		}
		if json.Unmarshal([]byte(data), &ev) != nil {
			continue
		}
		if ev.Type == "response.output_item.done" {
			done = append(done, ev.Item)
		}
		if ev.Response != nil {
			resp = *ev.Response
		}
	}
	resp.done = done
	if len(done) > len(resp.Output) {
		resp.Output = done
	}
	return resp
}

// checkRaw compares the response with one computed from the recorded body by other means.
func checkRaw(t *testing.T, x interaction, resp *llm.Response, counts map[string]int) {
	t.Helper()
	raw := rawOf(t, x)
	var text strings.Builder
	calls, others, searches := resp.ToolCalls(), 0, int64(0)
	var reasoning []json.RawMessage
	for _, data := range raw.Output {
		var it rawItem
		if err := json.Unmarshal(data, &it); err != nil {
			t.Fatal(x.ID, err)
		}
		switch it.Type {
		case "message":
			for _, c := range it.Content {
				text.WriteString(c.Text + c.Refusal)
			}
		case "reasoning":
			reasoning = append(reasoning, data)
		case "function_call", "custom_tool_call":
			if len(calls) == 0 {
				t.Errorf("%s: a call is lost", x.ID)
				return
			}
			c := calls[0]
			arguments, _ := it.Arguments.(string)
			if calls = calls[1:]; c.ID != it.CallID || c.Name != it.Name || c.Arguments != arguments+it.Input {
				t.Errorf("%s: got call %+v, want %+v", x.ID, c, it)
			}
			counts["calls"]++
		default:
			others++
			if action, _ := it.Action.(map[string]any); it.Type == "web_search_call" && (action == nil || action["type"] == "search") {
				searches++
			}
		}
	}
	if resp.ID != raw.ID || resp.Text() != text.String() || len(calls) > 0 {
		t.Errorf("%s: id %q, text %q, %d calls too many; want %q, %q", x.ID, resp.ID, resp.Text(), len(calls), raw.ID, text.String())
	}
	checkStates(t, x, resp, raw, reasoning, others, counts)
	want := llm.Usage{
		Input: raw.Usage.Input, Output: raw.Usage.Output, Reasoning: raw.Usage.Out.Reasoning,
		CacheRead: raw.Usage.In.Cached, CacheWrite: raw.Usage.In.Written,
	}
	if got := resp.Usage.Add(llm.Usage{}); got.Input != want.Input || got.Output != want.Output ||
		got.Reasoning != want.Reasoning || got.CacheRead != want.CacheRead || got.CacheWrite != want.CacheWrite || got.Searches != searches {
		t.Errorf("%s: usage %+v, want %+v", x.ID, got, want)
	}
}

// checkStates makes sure that reasoning and unknown items are kept byte for byte, as they were
// when they were done or as the response repeats them.
func checkStates(t *testing.T, x interaction, resp *llm.Response, raw rawResponse, reasoning []json.RawMessage, others int, counts map[string]int) {
	t.Helper()
	done := func(state []byte) bool {
		return slices.ContainsFunc(raw.done, func(item json.RawMessage) bool { return bytes.Equal(item, state) })
	}
	for _, p := range resp.Message.Parts {
		switch p := p.(type) {
		case llm.Thinking:
			if len(reasoning) == 0 || !bytes.Equal(unlinked(p.State.Data), reasoning[0]) && !done(unlinked(p.State.Data)) {
				t.Errorf("%s: a reasoning item is not kept as it was", x.ID)
				return
			}
			reasoning = reasoning[1:]
			counts["reasoning items"]++
		case llm.Opaque:
			others--
			counts["opaque items"]++
		}
	}
	if len(reasoning) > 0 || others != 0 {
		t.Errorf("%s: %d reasoning items and %d others are lost", x.ID, len(reasoning), others)
	}
}
