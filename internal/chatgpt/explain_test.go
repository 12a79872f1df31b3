package chatgpt

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/openai"
)

// A server may repeat the token of either call.
func TestExplain_ConcealsBothTokens(t *testing.T) {
	e := &llm.Error{Kind: llm.ErrAuthentication, Code: "old-token", Message: "not old-token or new-token", Body: []byte(`{"seen":["old-token","new-token"]}`)}
	got := explain(e, &used{refused: "old-token", token: "new-token"})
	if text := fmt.Sprintf("%v %s %s", got, e.Code, e.Body); strings.Contains(text, "old-token") || strings.Contains(text, "new-token") {
		t.Errorf("a token is visible: %s", text)
	}
}

func TestInstant_ReadsSecondsMillisecondsAndDates(t *testing.T) {
	at := time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		`1795003200`:             at,
		`1795003200000`:          at,
		`"2026-11-18T12:00:00Z"`: at,
		`"soon"`:                 {},
		`-1`:                     {},
		`1e20`:                   {},
		`null`:                   {},
	} {
		if got := instant(json.RawMessage(text)); !got.Equal(want) {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

func TestDue_ATokenIsNotRefreshedBeforeItMayBe(t *testing.T) {
	now := time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name    string
		from    time.Duration // until a refresh is allowed
		expires time.Duration
		refused string
		want    bool
	}{
		{"fresh", 0, time.Hour, "", false},
		{"expires in 5 minutes", 0, 5 * time.Minute, "", true},
		{"expires in 5 minutes, too early", time.Minute, 5 * time.Minute, "", false},
		{"refused", 0, time.Hour, "a", true},
		{"refused, too early", time.Minute, time.Hour, "a", false},
		{"another was refused", 0, time.Hour, "b", false},
		{"expired, too early", time.Minute, 0, "", true},
	} {
		s := saved{AccessToken: "a", RefreshToken: "r", Scopes: []string{planScope}, RefreshFrom: now.Add(tt.from), Expires: now.Add(tt.expires), RefreshUntil: now.Add(time.Hour)}
		if got := s.due(now, tt.refused); got != tt.want {
			t.Errorf("%s: due is %v, want %v", tt.name, got, tt.want)
		}
	}
}

// OpenAI's list of members that it refuses in requests that use a plan.
func TestRewrite_OmitsEverythingThatPlansRefuse(t *testing.T) {
	for _, name := range []string{
		"background", "conversation", "max_output_tokens", "max_tool_calls", "metadata", "moderation", "multi_agent",
		"previous_response_id", "prompt", "prompt_cache_options", "prompt_cache_retention", "safety_identifier", "temperature",
		"top_logprobs", "top_p", "truncation", "user",
	} {
		call := &llm.Call{Body: llm.Body{[]byte(`{"model":"m","` + name + `":1,"input":[]}`)}}
		if err := rewrite(&llm.Request{}, call); err != nil {
			t.Fatal(err)
		}
		if got, want := string(call.Body.Bytes()), `{"model":"m","store":false,"stream":true,"input":[]}`; got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
		r := &llm.Request{Options: map[string]llm.Options{openai.Name: {Body: map[string]json.RawMessage{name: json.RawMessage(`1`)}}}}
		if err := rewrite(r, call); llm.KindOf(err) != llm.ErrConfiguration {
			t.Errorf("the option %s: got %v, want an error", name, err)
		}
	}
}
