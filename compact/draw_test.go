package compact

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/reins-agent/reins/llm"
)

// drawText draws a text with lines, errors and characters of all lengths.
func drawText(t *rapid.T, limit int) string {
	size := rapid.SampledFrom([]int{1, 10, 100, 1000, 6000}).Draw(t, "size")
	unit := rapid.SampledFrom([]string{"ok line\n", "é世界🎉", "error: no\n", "x", "{\"a\":1}, ", "\n"}).Draw(t, "unit")
	mark := rapid.StringN(1, 8, 20).Draw(t, "mark")
	return mark + strings.Repeat(unit, min(size, limit)/len(unit))
}

var pixel = llm.Image{Media: llm.Media{MIME: "image/png", Data: []byte("\x89PNG\r\n\x1a\n0000")}}

func drawUser(t *rapid.T) llm.Message {
	msg := llm.UserText(drawText(t, 20000))
	if rapid.IntRange(0, 5).Draw(t, "image") == 0 {
		msg.Parts = append(msg.Parts, pixel)
	}
	return msg
}

// drawRound draws an answer with calls and their results. IDs sometimes repeat.
func drawRound(t *rapid.T, unique *int) []llm.Message {
	var answer, results llm.Message
	answer.Role = llm.RoleAssistant
	if rapid.Bool().Draw(t, "thinks") {
		answer.Parts = append(answer.Parts, llm.Thinking{Text: drawText(t, 500), State: llm.State{Dialect: "anthropic", Data: []byte(`{"signature":"c2ln"}`)}})
	}
	if rapid.Bool().Draw(t, "talks") {
		answer.Parts = append(answer.Parts, llm.Text{Text: drawText(t, 1000)})
	}
	results.Role = llm.RoleTool
	repeat := rapid.IntRange(0, 9).Draw(t, "repeat") == 0
	for i := range rapid.IntRange(1, 3).Draw(t, "calls") {
		*unique++
		call := llm.ToolCall{ID: fmt.Sprintf("call_%d", *unique), Name: rapid.SampledFrom([]string{"read_file", "shell", "edit"}).Draw(t, "tool")}
		if repeat {
			call.ID = fmt.Sprintf("call_%d", i)
		}
		call.Arguments = fmt.Sprintf(`{"path":%q}`, strings.Repeat("a/", rapid.SampledFrom([]int{1, 10, 1000}).Draw(t, "args")))
		answer.Parts = append(answer.Parts, call)
		r := llm.TextResult(call, drawText(t, 20000), rapid.IntRange(0, 3).Draw(t, "error") == 0)
		if rapid.IntRange(0, 5).Draw(t, "picture") == 0 {
			r.Parts = append(r.Parts, pixel)
		}
		results.Parts = append(results.Parts, r)
	}
	return []llm.Message{answer, results}
}

// drawConversation draws a conversation like an agent's, sometimes already compacted.
func drawConversation(t *rapid.T) []llm.Message {
	var msgs []llm.Message
	for range rapid.IntRange(0, 2).Draw(t, "leading") {
		msgs = append(msgs, llm.Message{Role: rapid.SampledFrom([]llm.Role{llm.RoleSystem, llm.RoleDeveloper}).Draw(t, "role"), Parts: []llm.Part{llm.Text{Text: drawText(t, 4000)}}})
	}
	unique := 100
	for range rapid.IntRange(1, 6).Draw(t, "turns") {
		msgs = append(msgs, drawUser(t))
		for range rapid.IntRange(0, 6).Draw(t, "rounds") {
			msgs = append(msgs, drawRound(t, &unique)...)
			if rapid.IntRange(0, 7).Draw(t, "steer") == 0 {
				role := rapid.SampledFrom([]llm.Role{llm.RoleUser, llm.RoleUser, llm.RoleDeveloper}).Draw(t, "role")
				msgs = append(msgs, llm.Message{Role: role, Parts: []llm.Part{llm.Text{Text: "steer " + drawText(t, 100)}}})
			}
		}
		if rapid.Bool().Draw(t, "says") {
			msgs = append(msgs, llm.AssistantText(drawText(t, 4000)))
		}
		if rapid.IntRange(0, 3).Draw(t, "compacted") == 0 {
			msgs = compactedBefore(t, msgs)
		}
	}
	switch rapid.IntRange(0, 3).Draw(t, "end") {
	case 0:
		msgs = append(msgs, drawUser(t))
	case 1:
		msgs = append(msgs, drawRound(t, &unique)[0])
	case 2:
		msgs = append(msgs, drawRound(t, &unique)...)
	}
	return msgs
}

// compactedBefore compacts messages with one method, if possible.
func compactedBefore(t *rapid.T, msgs []llm.Message) []llm.Message {
	var m Meter
	goal := Goal{Tokens: m.Weigh(msgs...) / 2}
	e, ok := Clear(m, msgs, goal)
	switch rapid.IntRange(0, 2).Draw(t, "way") {
	case 0:
		e, ok = Fallback(m, msgs, goal, Facts{Files: []string{"old.go"}, Plan: "- [ ] old plan"})
	case 1:
		var s Summary
		if s, ok = Prepare(m, msgs, goal); ok {
			var err error
			e, err = s.Finish(llm.AssistantText("earlier summary"), llm.FinishStop, Facts{Files: []string{"old.go"}})
			ok = err == nil
		}
	}
	if !ok {
		return msgs
	}
	out, err := e.Apply(msgs)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func drawGoal(t *rapid.T, m Meter, msgs []llm.Message) Goal {
	percent := rapid.SampledFrom([]int64{0, 1, 5, 20, 50, 80, 95, 120}).Draw(t, "goal")
	return Goal{
		Tokens:  m.Weigh(msgs...)*percent/100 + m.Overhead(),
		Request: m.Weigh(msgs...) * rapid.SampledFrom([]int64{0, 5, 20, 60, 100}).Draw(t, "request") / 100,
	}
}

func drawFacts(t *rapid.T) Facts {
	return Facts{
		Files: rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a.go", "dir/b c.go", "ü.txt", "main_test.go"}), 0, 3, rapid.ID).Draw(t, "files"),
		Plan:  rapid.SampledFrom([]string{"", "- [x] one\n- [ ] two", "  plan with spaces  \n"}).Draw(t, "plan"),
	}
}

func drawMeter(t *rapid.T, msgs []llm.Message) (m Meter) {
	m.Reset(msgs)
	if rapid.Bool().Draw(t, "counted") {
		m.Reported(llm.Usage{Input: m.Estimate() * rapid.Int64Range(1, 4).Draw(t, "factor") / 2, Output: 10})
	}
	return m
}

// newestUser returns the user's last message.
func newestUser(msgs []llm.Message) (llm.Message, bool) {
	for _, msg := range slices.Backward(msgs) {
		if msg.Role == llm.RoleUser && !isSummary(msg) {
			return msg, true
		}
	}
	return llm.Message{}, false
}
