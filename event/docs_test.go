package event

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/compact"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

var update = flag.Bool("update", false, "write docs/events.md anew")

const page = "../docs/events.md"

// section is what the page says about one kind.
type section struct {
	data  Data
	agent string
	text  string
}

const head = `# Events

Everything that happens in a session is a record. Hosts read them with ` + "`Session.Events`" + `; ` + "`reins run --output stream-json`" + `
prints them, one JSON object per line. This page is made by a test from the code, so it cannot go stale.

Each record has

| member | |
|---|---|
| ` + "`seq`" + ` | the number of a durable record, from 1, without gaps unless records were lost. A transient record has none: it shows something grow, and may be missing for a reader that is slow. What it shows is in a durable record later. |
| ` + "`time`" + ` | when it happened, RFC 3339 |
| ` + "`session`" + ` | the id of the session |
| ` + "`agent`" + ` | the path of the subagent it is about: ` + "`1`" + ` is the first subagent, ` + "`1/2`" + ` that one's second. Absent for the session itself |
| ` + "`kind`" + ` | one of the kinds below. New kinds may come: skip those you do not know |
| ` + "`data`" + ` | what the kind says below. New members may come |

To follow a session from where you left off, ask for the events after the last ` + "`seq`" + ` you saw. Durations are in
nanoseconds. Messages have a ` + "`role`" + ` (system, user, assistant, tool) and ` + "`parts`" + `; a part has a ` + "`type`" + `.

The order: SESSION_START is the first record of an agent and SESSION_END its last, unless the session is resumed. USER_INPUT starts the work on an
input, CONTINUE starts it again, and PROCESSING_END ends it. In between come model calls (MODEL_CALL_START, deltas, ASSISTANT_TEXT_END,
MODEL_CALL_END) and rounds of tools. Each call that starts gets exactly one TOOL_CALL_END, whatever happens; in a round, those come in the order in
which the model asked, unless one waits for an approval. A question to the user stays open until the next USER_INPUT, and a call that
waits for an approval until that is resolved. The state of a session follows from its durable records alone.
`

func sections() []section {
	cost, budget := 0.01425, 8192
	setup := Setup{
		ModelSetup: ModelSetup{Provider: "anthropic", Model: "claude-opus-4-6", Window: 200_000}, Effort: "high",
		Tools: []string{"read_file", "edit_file", "shell"}, Vision: true, Rules: Rules{ToolRounds: 200, LoopWindow: 10, TreeCost: 2, CompactAt: 0.8},
	}
	changed := setup
	changed.Effort, changed.ThinkingBudget = "low", &budget
	exec := []policy.Access{{Kind: policy.Exec, Target: "go test ./...", Dir: "/srv/project"}}
	call := llm.ToolCall{ID: "call_1", Name: "shell", Arguments: `{"command":"go test ./..."}`}
	return []section{
		{SessionStart{ID: "K3ZQ", Setup: setup, Dir: "/srv/project", System: "You are a coding agent. …"}, "",
			"A session, or a subagent, starts. `system` is the system prompt, `tools` are the names of the tools that are offered, and `rules` the limits and thresholds that the agent decides by; 0 or none is no limit. `unpriced` says that the price of the model is not known."},
		{UserInput{Message: llm.UserText("Fix the failing test.")}, "",
			"The user gave input. `follow_up` is true if it had waited for the input before it. `queued` is the number of the STEERING_QUEUED that it waited as. `answers` is the id of the tool call that it answers, if the model had asked the user a question with one. `output` is the JSON Schema of the result that is wanted, if one is."},
		{ModelCallStart{Call: 1, Provider: "anthropic", Model: "claude-opus-4-6", Effort: "high", Messages: 2}, "",
			"A request goes to the model. `call` counts the calls of the agent; `messages` is the length of the conversation that is sent, and `tools` a digest of the tools; `tool_choice`, `shape` and `object` are what else matters to the provider's cache. `purpose` is `summary` if the answer is not part of the conversation but a summary of it."},
		{ReasoningStart{Call: 1}, "", "The model begins to show its reasoning."},
		{ReasoningDelta{Call: 1, Text: "The test expects "}, "", "A piece of reasoning."},
		{ReasoningEnd{Call: 1, Text: "The test expects an error."}, "", "The whole block of reasoning."},
		{TextStart{Call: 1}, "", "The model begins to write text."},
		{TextDelta{Call: 1, Text: "I will run "}, "", "A piece of text."},
		{TextEnd{Call: 1, ID: "msg_01", Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "I will run the tests."}, call}}}, "",
			"The model's whole answer: its text, its reasoning as far as it is shown, and the message with all parts, tool calls among them. It comes once per answer, also if there is no text."},
		{ModelRetry{Call: 1, Attempt: 2, Max: 11, Delay: 1500 * time.Millisecond, Discard: true, Error: Error{Class: "server", Message: "anthropic: server (HTTP 529): Overloaded", Retryable: true}}, "",
			"A call failed and is made again after a delay; `attempt` is the number of the attempt to come, and `max` that of the last one. With `discard`, what was shown since MODEL_CALL_START is void."},
		{ModelCallEnd{Call: 1, Model: "claude-opus-4-6", Usage: llm.Usage{Input: 2100, Output: 150, CacheRead: 1900}, Cost: &cost, Duration: 2300 * time.Millisecond, Finish: "tool_calls"}, "",
			"The call is over. `cost` is in US dollars, null if the price is not known. `input_tokens` counts all that the model read, cached or not. After a failure there is an `error`, and in `partial` the text that had arrived. `retried` is what failed attempts before used, and `incomplete` says that the provider may bill more for failed attempts than it had reported. `summary` is the answer if the purpose is a summary."},
		{ToolCallStart{ID: "call_1", Name: "shell", Arguments: json.RawMessage(`{"command":"go test ./..."}`)}, "",
			"A tool call is about to run. `arguments` is a string if the model's arguments are not JSON. `question` is what it asks the user, if it does. A call that was approved later starts again with a second record."},
		{ApprovalRequested{ID: "call_1", Name: "shell", Arguments: json.RawMessage(`{"command":"go test ./..."}`), Accesses: exec, Rule: "default", Reason: "runs: go test ./..."}, "",
			"The call needs an approval, for the `reason` and by the `rule` given. It waits until there is an APPROVAL_RESOLVED, also over a restart. `accesses` is null if the tool does not say what it touches."},
		{ApprovalResolved{ID: "call_1", Allowed: true, Scope: tool.ForSession}, "",
			"The answer. `scope` is how long it holds: this once if it is absent, `session` or `always`. `arguments` replace those of the call; `reason` is for the model; `abort` stops the work. `deferred` says that nobody was waiting for it: the call runs when the work continues."},
		{ArgumentsDelta{Call: 1, ID: "call_1", Name: "shell", Text: `{"command":"go te`}, "", "A piece of a tool call's arguments as the model writes them. The `id` may differ from that of the finished call."},
		{ToolCallDelta{ID: "call_1", Text: "ok  \texample.com/project\n"}, "", "Output of the tool as it appears."},
		{ToolCallEnd{ID: "call_1", Name: "shell", Output: tool.Text("ok  \texample.com/project\n"), Model: "ok  \texample.com/project\n", Fields: map[string]any{"exit_code": 0.0},
			Artifacts: tool.Artifacts{CommandsRun: []string{"go test ./..."}}, Accesses: exec, Decision: policy.Decision{Verdict: policy.Ask, Rule: "default", Reason: "runs: go test ./..."}, Duration: 850 * time.Millisecond}, "",
			"The result of the call. `output` is all of the tool's output, however large; in a store, one of more than 64 KiB is in the blob that `output_blob` names instead. `model_output` is what the model sees of it, and is left out if that is the same. If `ok` is false there is an `error` with a `code` and a `message`. `fields` are the tool's own. `accesses` is what the call was going to touch, null if the tool does not say, and `decision` why it was allowed or refused: its `verdict`, and the `rule` that decided. `plan` marks calls whose arguments are the model's plan. `duration_ns` does not count the wait for an approval."},
		{SteeringQueued{Message: llm.UserText("Leave the API as it is.")}, "",
			"The host gave a message that waits for its place: between two steps, or with `follow_up` behind the work at hand."},
		{SteeringInjected{Message: llm.UserText("Leave the API as it is."), Source: "host"}, "",
			"A message was put into the conversation. `source` is `host` for steering; else what made the session add it: `loop_detection`, `length` or `error` or `pause` (how the last answer had ended), `structured_output`, `answer`."},
		{SteeringWithdrawn{Queued: 41}, "", "The host took a message back that waited."},
		{Interrupted{Reason: "context canceled"}, "",
			"The work was stopped from outside. Calls that wait for an approval keep waiting, unless `abandon` is set. CONTINUE, or the next USER_INPUT, goes on."},
		{Continue{}, "", "The work continues after it was interrupted or failed, or because an approval was given."},
		{LoopDetection{Message: "Loop detected: the last 10 tool calls follow a repeating pattern. Try a different approach.", Length: 2, Trips: 1}, "",
			"The model repeats the same calls with the same results. The message is put into the conversation; at the second trip the work pauses as well."},
		{Settings{Setup: changed}, "",
			"The host changed model, tools, prompt or settings. All of the setup is told, changed or not, but `system` only if it is another one."},
		{CacheBroken{Reason: "the model was changed"}, "", "The next request does not continue the one before it, so that the provider's prompt cache does not help."},
		{ModelFallback{From: "claude-opus-4-6", To: "claude-sonnet-4-6", Error: Error{Class: "server", Message: "anthropic: server (HTTP 529): Overloaded", Retryable: true}}, "",
			"A model could not be reached, retries and all; another one takes over to the end of the input."},
		{Compaction{Reason: "threshold", Method: "summary", Before: 171_000, After: 21_500,
			Edit: compact.Edit{Cleared: []compact.Cleared{{Message: 41, Part: 0, Text: "[cleared]"}}, Replaced: 38, Messages: []llm.Message{llm.UserText("# Summary of the conversation so far …")}}}, "",
			"The conversation was made smaller: `reason` is `threshold`, `manual` or `context_length`, `method` is `clear` (old tool results only), `summary` (by the model) or `digest` (without it). Behind the system message, `replaced` messages gave way to `messages`, and the parts in `cleared`, by their positions before that, to a text. The records before stay as they are."},
		{Quarantine{Position: 7, What: "an image", Reason: "anthropic: invalid request (HTTP 400): messages.7.content.1.image: Could not process image", Message: llm.UserText("[an image stood here, which the provider refused]")}, "",
			"The provider refuses something in the conversation. The message at the `position`, counted with the system message, became `message`, and the call is made once more."},
		{Checkpoint{ID: "0192f0c4", Dir: "/srv/project", Files: 214}, "",
			"The workspace was kept as it is, before something may change it or, with `after`, as the work on an input left it. It belongs to the USER_INPUT before it. With an `error` it could not be kept, and there is no `id`."},
		{RewindStart{Rewind{Input: 12, Chat: true, Files: true, Restored: "0192f0c4", Before: "0192f0d1", Dir: "/srv/project"}}, "",
			"Files are about to be set back, as the REWIND says that follows. If none follows, some of them may have been: undo goes on with it, and redo brings `before` back."},
		{Rewind{Input: 12, Chat: true, Files: true, Restored: "0192f0c4", Before: "0192f0d1", Dir: "/srv/project"}, "",
			"The input with the number `input` was taken back: what was said since (`chat`), what was done to the files since (`files`), or both. With `redo` that was taken back in turn. `restored` is the checkpoint that the files were set to, `before` one of how they were. `paths` are the only files and directories that were set back, if it was not all of them. With `abandons` only an undo or redo was taken back that had not come to its end."},
		{SubagentStart{ID: "1", Call: "call_2", Type: "Explore", Task: "Find where the parser is tested.", Model: "claude-opus-4-6"}, "",
			"A subagent is given a task, by the tool call `call`. What it does follows in records with its path as `agent`, from its SESSION_START."},
		{SubagentEnd{ID: "1", Status: "completed", Output: "It is tested in parse_test.go.", Turns: 3, Success: true}, "",
			"The subagent is done with the task: `completed`, `failed`, `waiting for an approval` or `closed`. `turns` counts all its model calls so far."},
		{TurnLimit{Limit: "tree_cost", Value: 2, Detail: "the agents have spent $2.0312 of $2.0000"}, "",
			"A limit was reached: `max_tool_rounds`, `max_turns`, `tree_turns`, `tree_tokens`, `tree_cost` or `tree_duration`."},
		{Warning{Code: "context_window", Message: "Context usage at ~84% of context window"}, "", "Something that does not stop the work. `code` says what it is about: `context_window`, `summary_failed`, `no_checkpoint`, or none."},
		{Error{Class: "rate_limit", Message: "anthropic: rate limit (HTTP 429)", Retryable: true}, "1",
			"The work on the input failed. `retryable` says that the same may succeed later. If code of the host panicked, `class` is `panic` and there is a `stack`. `item` is the place in the conversation that the provider refused, and `body` what the model gave instead of the object that was asked for."},
		{ProcessingEnd{Outcome: "done", State: "IDLE", Rounds: 4}, "",
			"The work on the input is over. `outcome` is `done`, `awaiting_input`, `awaiting_approval`, `limit`, `cut_off`, `paused`, `refused`, `loop`, `interrupted` or `failed`; `state` is the state that follows: `IDLE`, `AWAITING_INPUT`, `AWAITING_APPROVAL`, `CLOSED`, or `PROCESSING` if more input waits. `question` is what the model wants to know."},
		{SessionEnd{Reason: "closed", State: "CLOSED"}, "",
			"The session, or the subagent, is over. `undelivered` are messages of the host that never found their place; they wait if the session is resumed."},
		{SessionResume{Setup: setup, Dir: "/srv/project", Interrupted: true}, "",
			"The session was taken up again, and something was done with it: the record comes with the first one behind it. `interrupted` says that it had not come to an end but was cut off; `lost` counts records that could not be read; `system` is the system prompt if it is another one now."},
	}
}

// render writes the page.
func render(t *testing.T) []byte {
	var b bytes.Buffer
	b.WriteString(head)
	at := time.Date(2026, 11, 15, 9, 30, 0, 0, time.UTC)
	var seq Seq
	for _, s := range sections() {
		kind := s.data.Kind()
		r := Record{Time: at, Session: "K3ZQ", Agent: s.agent, Data: s.data}
		title := string(kind)
		if kind.Transient() {
			title += " (transient)"
		} else {
			seq++
			r.Seq = seq
		}
		raw, err := json.Marshal(r)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n```json\n%s\n```\n", title, s.text, raw)
		at = at.Add(time.Second)
	}
	return b.Bytes()
}

func TestDocs_EventsPageShowsEveryKindAsItIs(t *testing.T) {
	documented := map[Kind]bool{}
	for _, s := range sections() {
		documented[s.data.Kind()] = true
	}
	for _, kind := range slices.Sorted(maps.Keys(decoders)) {
		if !documented[kind] {
			t.Errorf("%s is not on the page", kind)
		}
	}
	want := render(t)
	if *update {
		if err := os.WriteFile(page, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.ReplaceAll(string(got), "\r\n", "\n"); text != string(want) {
		t.Error("docs/events.md is not what the code says: run go test ./event -run Docs -update")
	}
}

func TestDocs_ExamplesReadBackAsTheyWere(t *testing.T) {
	for line := range strings.Lines(string(render(t))) {
		if !strings.HasPrefix(line, `{`) {
			continue
		}
		var r Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Errorf("%v: %s", err, line)
			continue
		}
		if again, err := json.Marshal(r); err != nil || string(again) != strings.TrimSpace(line) {
			t.Errorf("%s\nbecame\n%s, %v", line, again, err)
		}
	}
}
