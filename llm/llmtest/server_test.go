package llmtest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm/llmtest"
)

func TestServer_BaseURLKnowsDialectsAndProvidersAndNothingElse(t *testing.T) {
	srv := llmtest.NewServer(llmtest.Play())
	defer srv.Close()
	for name, version := range map[string]bool{
		"openai-responses": true, "openai": true, "openai-chat": true, "chat": true, "anthropic": false, "gemini": false,
	} {
		if got := srv.BaseURL(name); strings.HasSuffix(got, "/v1") != version {
			t.Errorf("%s: %s", name, got)
		}
	}
	for _, name := range []string{"bogus", "", "openai-"} {
		func() {
			defer func() {
				if p := fmt.Sprint(recover()); !strings.Contains(p, fmt.Sprintf("%q", name)) || !strings.Contains(p, "openai-chat") {
					t.Errorf("BaseURL(%q) panics with %q", name, p)
				}
			}()
			t.Errorf("BaseURL(%q) returns %s", name, srv.BaseURL(name))
		}()
	}
}
