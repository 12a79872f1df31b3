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
	"github.com/reins-agent/reins/hook"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

var update = flag.Bool("update", false, "rewrite docs/events.md and testdata/switches.txt")

const page = "../docs/events.md"

// section documents one kind.
type section struct {
	data  Data
	agent string
	text  string
}

const head = `# Events

Everything that happens in a session is a record. Hosts read records with ` + "`Session.Events`" + `; ` + "`reins run --output stream-json`" + `
prints them, one JSON object per line. This page is generated from the code.

Each record has these members:

| member | |
|---|---|
| ` + "`seq`" + ` | a durable record's number, from 1 and without gaps unless records were lost. Transient records have none: they show progress, slow readers may miss them, and a later durable record contains their content |
| ` + "`time`" + ` | when it happened, RFC 3339 |
| ` + "`session`" + ` | the session id |
| ` + "`agent`" + ` | the subagent's path: ` + "`1`" + ` is the first subagent, ` + "`1/2`" + ` its second subagent. Absent for the root agent |
| ` + "`kind`" + ` | one of the kinds below. Skip unknown kinds: new ones may be added |
| ` + "`data`" + ` | depends on the kind. New members may be added |

To follow a session from where you stopped, ask for the events after the last ` + "`seq`" + ` you saw. Durations are in
nanoseconds. Messages have a ` + "`role`" + ` (system, user, assistant, tool) and ` + "`parts`" + `; a part has a ` + "`type`" + `.

## Order

SESSION_START is an agent's first record, and SESSION_END its last unless the session is resumed. USER_INPUT starts work,
CONTINUE continues it, and PROCESSING_END ends it. In between come model calls (MODEL_CALL_START, deltas, ASSISTANT_TEXT_END,
MODEL_CALL_END) and rounds of tool calls. Each tool call that starts gets exactly one TOOL_CALL_END. In a round these come in the
order of the model's calls, unless a call waits for approval. A question to the user stays open until the next USER_INPUT, and a
call that needs an approval waits until the approval is resolved. A session's state follows from its durable records alone.
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
			"A session or a subagent starts. `system` is the system prompt, `tools` the names of the offered tools, and `rules` the limits and thresholds; an absent rule is off. `unpriced` means that the model's price is unknown."},
		{UserInput{Message: llm.UserText("Fix the failing test.")}, "",
			"The user gave input. `follow_up` is true if it was queued until the previous input was done, and `queued` is the number of its STEERING_QUEUED. `answers` is the id of the tool call that asked the user. `output` is the JSON Schema of the requested result. `origin` says who wrote the message if the user did not: its `kind` is `skill` (with the `tools` that the skill allows), `schedule` (the job `id`, due `at`), `missed`, `webhook` (the delivery `id`), `hook`, `mail` (the agent `id`), `worktree` or `background` (the user stopped the command with this `id`)."},
		{ModelCallStart{Call: 1, Provider: "anthropic", Model: "claude-opus-4-6", Effort: "high", Messages: 2}, "",
			"A model call starts. `call` numbers the agent's model calls, `messages` is the conversation length, and `tools` a digest of the tools. `tool_choice`, `shape` and `object` are other properties that affect the provider's cache. `purpose` is `summary` if the answer is a summary of the conversation and not part of it."},
		{ReasoningStart{Call: 1}, "", "The model starts to show its reasoning."},
		{ReasoningDelta{Call: 1, Text: "The test expects "}, "", "A piece of reasoning."},
		{ReasoningEnd{Call: 1, Text: "The test expects an error."}, "", "A complete block of reasoning."},
		{TextStart{Call: 1}, "", "The model starts to write text."},
		{TextDelta{Call: 1, Text: "I will run "}, "", "A piece of text."},
		{TextEnd{Call: 1, ID: "msg_01", Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text{Text: "I will run the tests."}, call}}}, "",
			"The complete answer: its text, its reasoning as far as the provider shows it, and the message with all parts, including tool calls. Each answer has one, even without text."},
		{ModelRetry{Call: 1, Attempt: 2, Max: 11, Delay: 1500 * time.Millisecond, Discard: true, Error: Error{Class: "server", Message: "anthropic: server (HTTP 529): Overloaded", Retryable: true}}, "",
			"A model call failed and is retried after a delay. `attempt` is the next attempt's number, and `max` the maximum. With `discard`, discard everything shown since MODEL_CALL_START."},
		{ModelCallEnd{Call: 1, Model: "claude-opus-4-6", Usage: llm.Usage{Input: 2100, Output: 150, CacheRead: 1900}, Cost: &cost, Duration: 2300 * time.Millisecond, Finish: "tool_calls"}, "",
			"The model call ended. `cost` is in US dollars, or null if the price is unknown. `input_tokens` counts everything the model read, cached or not. A failed call has an `error`, and `partial` is the text received before it failed. `retried` is the usage of earlier attempts. `incomplete` means that the provider may bill more for failed attempts than it reported. `summary` is the answer if the purpose was a summary."},
		{ToolCallStart{ID: "call_1", Name: "shell", Arguments: json.RawMessage(`{"command":"go test ./..."}`)}, "",
			"A tool call starts. `arguments` is a string if the model's arguments are not JSON. `question` is the call's question for the user, and `questions` is the question in parts. A call that is approved after the session stopped waiting for it starts again."},
		{ApprovalRequested{ID: "call_1", Name: "shell", Arguments: json.RawMessage(`{"command":"go test ./..."}`), Accesses: exec, Rule: "default", Code: "runs", Reason: "runs: go test ./...", Mode: policy.ModeDefault,
			Grants: []Grant{{Text: `commands that begin with "go test"`, Rules: []string{"Bash(go test:*)"}}}}, "",
			"A tool call needs an approval, for the `reason` and by the `rule` given; `code` is the kind of reason, for programs. It waits for APPROVAL_RESOLVED, even across restarts. `accesses` is null if the tool did not declare them. `preview`, `diff`, `notes` and `parts` describe the call to the person who decides. `grants` lists what an approval can cover besides the call."},
		{ApprovalResolved{ID: "call_1", Allowed: true, Scope: tool.ForSession}, "",
			"The approval was answered. `scope` is how long the answer holds: `session`, `always`, or only this time if it is absent. `arguments` replace those of the call, `reason` is for the model, and `abort` stops the work. `deferred` means that nobody waited for the answer: the call runs when the work continues."},
		{BackgroundEnd{ID: "1", Command: "npm run dev", ExitCode: 143, Signal: "SIGTERM", Stopped: StoppedByUser, Duration: 90 * time.Second}, "",
			"A command ended that a tool call had left running: `background` in the artifacts of its TOOL_CALL_END is the `id`. `stopped_by` is `agent`, `user`, `session` (it was closed), or absent if nobody stopped the command. A command without this record was lost when the process of the session was killed."},
		{QuestionAsked{ID: "q1", Type: QuestionForm, From: "tracker", Text: "Which project is this for?", Schema: json.RawMessage(`{"type":"object","properties":{"project":{"type":"string"}}}`)}, "",
			"The user is asked about something other than a tool call. `type` is one of `form`, `link`, `sample`, `server`, `trust` and `overwrite`, and `from` is who asks. A question ends with QUESTION_ANSWERED, or with SESSION_RESUME: the process that asked has ended."},
		{QuestionAnswered{ID: "q1", Accepted: true, Values: json.RawMessage(`{"project":"reins"}`)}, "",
			"The question was answered, or withdrawn for a `reason`. The first answer counts."},
		{ArgumentsDelta{Call: 1, ID: "call_1", Name: "shell", Text: `{"command":"go te`}, "", "A piece of a tool call's arguments as the model writes them. The finished call may have another `id`."},
		{ToolCallDelta{ID: "call_1", Text: "ok  \texample.com/project\n"}, "", "Tool output as it is written."},
		{ToolCallEnd{ID: "call_1", Name: "shell", Output: tool.Text("ok  \texample.com/project\n"), Model: "ok  \texample.com/project\n", Fields: map[string]any{"exit_code": 0.0},
			Artifacts: tool.Artifacts{CommandsRun: []string{"go test ./..."}}, Accesses: exec, Decision: policy.Decision{Verdict: policy.Ask, Rule: "default", Reason: "runs: go test ./..."}, Duration: 850 * time.Millisecond}, "",
			"The result of a tool call. `output` is the complete output. In a store, output over 64 KiB is in the blob that `output_blob` names instead. `model_output` is what the model sees, if that differs. If `ok` is false, `error` has a `code` and a `message`. `fields` are specific to the tool. `accesses` is what the call would access, null if the tool did not declare it, and `decision` says why it was allowed or refused: the `verdict`, and the `rule` that decided. `plan` marks calls whose arguments are the model's plan, `mode` is the permission mode that the call switched to, and `reports` the subagent whose result it returns. `artifacts.message` is a message for the user. `artifacts.background` is the id of the command if the call left it running. `artifacts.wrote` lists what the call changed in the workspace, with what identifies the kind, mode and content `before` and `after`; `command` means that this was found by comparing the workspace before and after a command, and `unsure` that the command does not name the path, so that others may have changed it. `artifacts.untraced` is why there may be more: `background`, `interrupted`, `failed` or `many`. `duration_ns` excludes the wait for an approval."},
		{SteeringQueued{
			Message:  llm.UserText("Check the build."),
			Origin:   &Origin{Kind: OriginSchedule, ID: "1", At: time.Date(2026, 11, 18, 9, 0, 0, 0, time.UTC)},
			FollowUp: true,
		}, "",
			"The host queued a message. It enters the conversation between two steps or, with `follow_up`, after the current work. `origin` is that of USER_INPUT."},
		{SteeringInjected{Message: llm.UserText("Leave the API as it is."), Source: "host"}, "",
			"A message entered the conversation. `source` is `host` for a queued message. Otherwise the session added it: `loop_detection`, `structured_output`, `answer` (the user's answer to a tool call, if a tool result cannot hold it), `hook` (a hook's message), `mail` (from another agent), `subagent` (a subagent's result), or how the last answer ended: `length`, `error` or `pause`. `queued` is the number of the STEERING_QUEUED, MAIL or SUBAGENT_END that it delivers."},
		{SteeringWithdrawn{Queued: 41}, "", "The host withdrew a queued message."},
		{Interrupted{Reason: "context canceled"}, "",
			"The work was stopped from outside. Tool calls that wait for an approval keep waiting, unless `abandon` is set. CONTINUE or the next USER_INPUT continues."},
		{Continue{}, "", "The work continues after an interruption, a failure or an approval."},
		{LoopDetection{Message: "Loop detected: the last 10 tool calls follow a repeating pattern. Try a different approach.", Length: 2, Trips: 1}, "",
			"The model repeats the same calls with the same results. The message enters the conversation. The second time, the work also stops."},
		{Settings{Setup: changed}, "",
			"The host changed the model, tools, prompt or settings. The setup is complete, but `system` is only present if the prompt changed. `mode_set` means that the host ended a plan mode that the model entered."},
		{CacheBroken{Reason: "the model was changed"}, "", "The next request does not extend the one before it, so the provider's prompt cache does not apply."},
		{ModelFallback{From: "claude-opus-4-6", To: "claude-sonnet-4-6", Error: Error{Class: "server", Message: "anthropic: server (HTTP 529): Overloaded", Retryable: true}}, "",
			"A model could not be reached, even with retries. Another model replaces it until the next input."},
		{Compaction{Reason: "threshold", Method: "summary", Before: 171_000, After: 21_500,
			Edit: compact.Edit{Cleared: []compact.Cleared{{Message: 41, Part: 0, Text: "[cleared]"}}, Replaced: 38, Messages: []llm.Message{llm.UserText("# Summary of the conversation so far …")}}}, "",
			"The conversation was compacted. `reason` is `threshold`, `manual` or `context_length`. `method` is `clear` (old tool results were cleared), `summary` (written by the model), `server` (written and signed by the provider) or `digest` (made without the model). After the system message, `messages` replace the first `replaced` messages, `appended` are added at the end, and texts replace the parts in `cleared`, whose positions are those before the compaction. Earlier records stay as they are."},
		{Quarantine{Position: 7, What: "an image", Reason: "anthropic: invalid request (HTTP 400): messages.7.content.1.image: Could not process image", Message: llm.UserText("[image removed: the provider refused it]")}, "",
			"The provider refused part of the conversation. `message` replaces the message at `position`, counting the system message, and the model call is repeated once."},
		{Checkpoint{ID: "0192f0c4", Dir: "/srv/project", Files: 214, Traced: true}, "",
			"A workspace snapshot was taken, before the work on an input could change it or, with `after`, when the work ended. It belongs to the USER_INPUT before it. With an `error`, none was taken and there is no `id`. `traced` means that the calls after it record what they change."},
		{RewindStart{Rewind{Input: 12, Chat: true, Files: true, Restored: "0192f0c4", Before: "0192f0d1", Dir: "/srv/project", Traced: true, Touched: []string{"parse.go"}}}, "",
			"Files are about to be restored; a REWIND with the same data follows. If it does not, some files may have been restored: undo completes it, and redo restores `before`."},
		{Rewind{Input: 12, Chat: true, Files: true, Restored: "0192f0c4", Before: "0192f0d1", Dir: "/srv/project", Traced: true, Touched: []string{"parse.go"}}, "",
			"The USER_INPUT with the number `input` was undone: the conversation since then (`chat`), the changes to files since then (`files`), or both. With `redo`, it was redone. `restored` is the checkpoint that the files were restored from, and `before` one taken just before that. `paths` are the files and directories restored, if not all. If `traced`, `touched` lists all paths that were to change. With `abandons`, only an incomplete undo or redo was undone."},
		{SubagentStart{ID: "1", Name: "finder", Call: "call_2", Type: "Explore", Task: "Find where the parser is tested.", Model: "claude-opus-4-6"}, "",
			"The tool call `call` gave a subagent a task. The subagent's records follow, with its path as `agent`, from its SESSION_START on."},
		{SubagentEnd{ID: "1", Status: "completed", Output: "It is tested in parse_test.go.", Turns: 3, Success: true}, "",
			"A subagent ended its work on a task. `status` is `completed`, `failed`, `waiting for an approval` or `closed`, and `reason` says why it did not complete. `turns` counts its model calls so far."},
		{Task{ID: "task_2", Subject: "Test the parser", Status: TaskInProgress, Owner: "finder", BlockedBy: []string{"task_1"}}, "1",
			"A task was created or changed; the record contains the whole task. `status` is `pending`, `in_progress`, `completed`, `failed` or `cancelled`. `owner` is an agent's name, or its path if it has no name. `blocked_by` lists tasks that must be completed first. `output` is its result."},
		{Team{Name: "parser", Members: []Member{{"main", RoleLeader}, {"finder", RoleMember}}, Status: TeamActive}, "",
			"A team was created or disbanded. `status` is `active` or `disbanded`, and `role` is `leader` or `member`. The root agent is called `main`."},
		{Mail{Team: "parser", From: "main", To: []string{"finder"}, Type: MailText, Content: "Look at the lexer too."}, "",
			"An agent sent a message to other team members. `type` is `text`, `shutdown_request`, `shutdown_response`, `plan_approval_request` or `plan_approval_response`, and `approve` is the answer in a response. The message enters the conversation of each recipient once, as STEERING_INJECTED."},
		{Hook{Event: "PreToolUse", Name: "guard.sh", Call: "call_1", Outcome: "blocked", Reason: "use the Makefile", Title: "Guard", Level: "warning", Message: "blocked a command", Restrict: []hook.Restriction{{Tool: "Bash", Behavior: hook.Ask}}, Duration: 12 * time.Millisecond}, "",
			"A hook ran; see [hooks](hooks.md). `outcome` is `ok`, `changed` (it changed the input or output of tool call `call`; `input` is the new one), `asked` (it requires an approval), `blocked` (it refused a call or input, or kept the agent working), `stopped` (it stopped the work) or `failed` (without effect; a failure that refuses a call is `blocked`). `message` is for the user. `context` is for the model and enters the conversation as STEERING_INJECTED."},
		{TurnLimit{Limit: "tree_cost", Value: 2, Detail: "the agents have spent $2.0312 of $2.0000"}, "",
			"A limit was reached: `max_tool_rounds`, `max_turns`, `tree_turns`, `tree_tokens`, `tree_cost` or `tree_duration`."},
		{Warning{Code: "context_window", Message: "Context usage at ~84% of context window"}, "", "A problem that does not stop the work. `code` is `context_window`, `summary_failed`, `context_truncated` (the server dropped part of the conversation without an error), `price_step` (the conversation is so long that tokens cost more), `budget` (the cost has reached 80 % of its limit), `no_checkpoint`, `stop_hooks` (hooks wanted to keep the agent working too often), or absent."},
		{Error{Class: "rate_limit", Message: "anthropic: rate limit (HTTP 429)", Retryable: true}, "1",
			"The work on the input failed. `retryable` means that it may succeed later. `class` is the kind of error, `save` if the session could not be saved, or `panic` if the host's code panicked; then there is a `stack`. `item` is the conversation item that the provider refused, and `body` the model's output in place of the requested object."},
		{ProcessingEnd{Outcome: "done", State: "IDLE", Rounds: 4}, "",
			"The work on the input ended. `outcome` is `done`, `awaiting_input`, `awaiting_approval`, `limit`, `cut_off`, `paused`, `refused`, `loop`, `interrupted` or `failed`. `state` is the state after it: `IDLE`, `AWAITING_INPUT`, `AWAITING_APPROVAL`, `CLOSED`, or `PROCESSING` if more input is queued. `question` is what the model asks the user."},
		{SessionEnd{Reason: "closed", State: "CLOSED"}, "",
			"The session or subagent ended. `undelivered` are queued messages; they are queued again if the session is resumed."},
		{SessionResume{Setup: setup, Dir: "/srv/project", Interrupted: true}, "",
			"The session was resumed. The record is written together with the next one, when the session is used. `interrupted` means that the session did not end properly, and `lost` is how many records could not be read. `system` is present if the prompt changed."},
	}
}

// render returns the page.
func render(t *testing.T) []byte {
	var b bytes.Buffer
	b.WriteString(head)
	at := time.Date(2026, 11, 15, 9, 30, 0, 0, time.UTC)
	var seq Seq
	for _, s := range sections() {
		kind := s.data.kind()
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

func TestDocs_EventsPageIsUpToDate(t *testing.T) {
	documented := map[Kind]bool{}
	for _, s := range sections() {
		documented[s.data.kind()] = true
	}
	for _, kind := range slices.Sorted(maps.Keys(dataTypes)) {
		if !documented[kind] {
			t.Errorf("%s is not documented", kind)
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
		t.Error("docs/events.md is out of date: run go test ./event -run Docs -update")
	}
}

func TestDocs_ValuesAreDocumented(t *testing.T) {
	texts := map[Kind]string{}
	for _, s := range sections() {
		texts[s.data.kind()] = s.text
	}
	for kind, values := range map[Kind][]string{
		KindProcessingEnd: join(
			[]Status{StatusDone, StatusAwaitingInput, StatusAwaitingApproval, StatusLimit, StatusCutOff, StatusPaused, StatusRefused, StatusLoop, StatusInterrupted, StatusFailed},
			[]State{StateIdle, StateProcessing, StateAwaitingInput, StateAwaitingApproval, StateClosed}),
		KindTurnLimit:        join([]Limit{LimitToolRounds, LimitTurns, LimitTreeTurns, LimitTreeTokens, LimitTreeCost, LimitTreeDuration}, []Limit{}),
		KindSubagentEnd:      join([]SubagentStatus{SubagentCompleted, SubagentFailed, SubagentWaiting, SubagentClosed}, []Limit{}),
		KindModelCallStart:   {string(PurposeSummary)},
		KindSteeringInjected: join([]Source{SourceHost, SourceLoop, SourceObject, SourceAnswer, SourceHook, SourceMail, SourceReport, SourceLength, SourceError, SourcePause}, []Limit{}),
		KindCompaction: join([]CompactionReason{CompactionThreshold, CompactionManual, CompactionContextLength},
			[]CompactionMethod{CompactionClear, CompactionSummary, CompactionDigest}),
		KindTask:          join([]TaskStatus{TaskPending, TaskInProgress, TaskCompleted, TaskFailed, TaskCancelled}, []Limit{}),
		KindBackgroundEnd: {string(StoppedByAgent), string(StoppedByUser), string(StoppedByClose)},
		KindTeam:          join([]TeamStatus{TeamActive, TeamDisbanded}, []TeamRole{RoleLeader, RoleMember}),
		KindMail:          join([]MailType{MailText, MailShutdownRequest, MailShutdownResponse, MailPlanRequest, MailPlanResponse}, []Limit{}),
		KindHook:          join([]HookOutcome{HookOK, HookChanged, HookAsked, HookBlocked, HookStopped, HookFailed}, []Limit{}),
		KindWarning:       join([]WarningCode{WarningContextWindow, WarningSummaryFailed, WarningTruncated, WarningPriceStep, WarningNoCheckpoint, WarningStopHooks}, []Limit{}),
	} {
		for _, v := range values {
			if !strings.Contains(texts[kind], "`"+v+"`") {
				t.Errorf("the text of %s does not mention %s", kind, v)
			}
		}
	}
}

func join[A, B ~string](a []A, b []B) (out []string) {
	for _, v := range a {
		out = append(out, string(v))
	}
	for _, v := range b {
		out = append(out, string(v))
	}
	return out
}

func TestDocs_ExamplesSurviveARoundTrip(t *testing.T) {
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
			t.Errorf("got %s, want %s (%v)", again, line, err)
		}
	}
}
