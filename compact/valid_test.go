package compact

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/anthropic"
	"github.com/reins-agent/reins/llm/bedrock"
	"github.com/reins-agent/reins/llm/chat"
	"github.com/reins-agent/reins/llm/gemini"
	"github.com/reins-agent/reins/llm/llmtest"
	"github.com/reins-agent/reins/llm/openai"
)

// wellFormed checks what holds for every conversation in every protocol.
func wellFormed(msgs []llm.Message) error {
	head := leading(msgs)
	if head == len(msgs) || msgs[head].Role != llm.RoleUser {
		return errors.New("the conversation does not begin with the user")
	}
	summaries := 0
	var calls []string
	for i, msg := range msgs {
		if partsLoad(msg.Parts) == (load{}) {
			return fmt.Errorf("message %d is empty", i)
		}
		if isSummary(msg) {
			summaries++
		}
		var results []string
		for _, p := range msg.Parts {
			if r, ok := p.(llm.ToolResult); ok {
				results = append(results, r.ID)
				if len(r.Parts) == 0 {
					return fmt.Errorf("message %d has an empty result", i)
				}
			}
		}
		if (msg.Role == llm.RoleTool) != (len(results) > 0) || !slices.Equal(calls, results) {
			return fmt.Errorf("message %d (%s) has results %q, want %q", i, msg.Role, results, calls)
		}
		calls = nil
		for _, c := range msg.ToolCalls() {
			calls = append(calls, c.ID)
		}
		if len(calls) > 0 && msg.Role != llm.RoleAssistant {
			return fmt.Errorf("message %d (%s) has calls", i, msg.Role)
		}
	}
	if summaries > 1 {
		return fmt.Errorf("there are %d summaries", summaries)
	}
	return nil
}

// dialects are all protocols, with models of different rules.
var dialects = []struct {
	wire.Dialect
	model string
}{
	{openai.NewDialect(openai.Config{}), "gpt-6.1-sol"},
	{anthropic.NewDialect(anthropic.Config{}), "claude-haiku-4-5"},
	{anthropic.NewDialect(anthropic.Config{}), "claude-sonnet-5-5"},
	{gemini.NewDialect(gemini.Config{}), "gemini-3.8-flash"},
	{chat.NewDialect(chat.Config{}), "gpt-4o"},
	{bedrock.NewDialect(bedrock.Config{}), "amazon.nova-pro-v1:0"},
}

// refused returns the protocols' errors for a conversation, after answering its open calls.
func refused(msgs []llm.Message, effort string) map[string]error {
	msgs = slices.Clone(msgs)
	var results []llm.ToolResult
	for _, c := range msgs[len(msgs)-1].ToolCalls() {
		results = append(results, llm.TextResult(c, "interrupted", true))
	}
	if len(results) > 0 {
		msgs = append(msgs, llm.ToolResults(results...))
	} else if msgs[len(msgs)-1].Role == llm.RoleAssistant {
		msgs = append(msgs, llm.UserText("Continue."))
	}
	errs := map[string]error{}
	for _, d := range dialects {
		call, err := d.Encode(&llm.Request{Model: d.model, Effort: effort, Messages: msgs})
		if err == nil {
			err = llmtest.Validate(d.Name(), call.Body.Bytes())
		}
		if err != nil {
			errs[d.model] = err
		}
	}
	return errs
}

// newlyRefused returns an error from a protocol that accepted the conversation before.
func newlyRefused(before, after []llm.Message, effort string) error {
	old := refused(before, effort)
	for name, err := range refused(after, effort) {
		if old[name] == nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// sketch formats a conversation for a failure message.
func sketch(msgs []llm.Message) string {
	var b strings.Builder
	for i, msg := range msgs {
		fmt.Fprintf(&b, "%d %s:", i, msg.Role)
		for _, p := range msg.Parts {
			l := partLoad(p)
			fmt.Fprintf(&b, " %T(%d+%d)", p, l.bytes, l.tokens)
		}
		if isSummary(msg) {
			b.WriteString(" SUMMARY")
		}
		b.WriteByte('\n')
	}
	return b.String()
}
