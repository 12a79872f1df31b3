package event

import (
	"encoding/json"
	"reflect"
)

// Kinds of data. Transient kinds have no number and are not saved.
const (
	KindSessionStart      Kind = "SESSION_START"
	KindSessionEnd        Kind = "SESSION_END"
	KindSessionResume     Kind = "SESSION_RESUME"
	KindContinue          Kind = "CONTINUE"
	KindInterrupted       Kind = "INTERRUPTED"
	KindUserInput         Kind = "USER_INPUT"
	KindProcessingEnd     Kind = "PROCESSING_END"
	KindModelCallStart    Kind = "MODEL_CALL_START"
	KindModelCallEnd      Kind = "MODEL_CALL_END"
	KindModelRetry        Kind = "MODEL_RETRY"
	KindTextStart         Kind = "ASSISTANT_TEXT_START" // transient
	KindTextDelta         Kind = "ASSISTANT_TEXT_DELTA" // transient
	KindTextEnd           Kind = "ASSISTANT_TEXT_END"
	KindReasoningStart    Kind = "REASONING_START"           // transient
	KindReasoningDelta    Kind = "REASONING_DELTA"           // transient
	KindReasoningEnd      Kind = "REASONING_END"             // transient
	KindArgumentsDelta    Kind = "TOOL_CALL_ARGUMENTS_DELTA" // transient
	KindToolCallStart     Kind = "TOOL_CALL_START"
	KindToolCallDelta     Kind = "TOOL_CALL_OUTPUT_DELTA" // transient
	KindToolCallEnd       Kind = "TOOL_CALL_END"
	KindApprovalRequested Kind = "APPROVAL_REQUESTED"
	KindApprovalResolved  Kind = "APPROVAL_RESOLVED"
	KindQuestionAsked     Kind = "QUESTION_ASKED"
	KindQuestionAnswered  Kind = "QUESTION_ANSWERED"
	KindSteeringQueued    Kind = "STEERING_QUEUED"
	KindSteeringInjected  Kind = "STEERING_INJECTED"
	KindSteeringWithdrawn Kind = "STEERING_WITHDRAWN"
	KindTurnLimit         Kind = "TURN_LIMIT"
	KindLoopDetection     Kind = "LOOP_DETECTION"
	KindSettings          Kind = "SETTINGS_CHANGED"
	KindCacheBroken       Kind = "CACHE_BROKEN"
	KindModelFallback     Kind = "MODEL_FALLBACK"
	KindCompaction        Kind = "COMPACTION"
	KindQuarantine        Kind = "QUARANTINE"
	KindCheckpoint        Kind = "CHECKPOINT"
	KindRewindStart       Kind = "REWIND_START"
	KindRewind            Kind = "REWIND"
	KindSubagentStart     Kind = "SUBAGENT_START"
	KindSubagentEnd       Kind = "SUBAGENT_END"
	KindTask              Kind = "TASK"
	KindTeam              Kind = "TEAM"
	KindMail              Kind = "MAIL"
	KindHook              Kind = "HOOK"
	KindWarning           Kind = "WARNING"
	KindError             Kind = "ERROR"
)

// Transient reports whether records of this kind only show progress and are not saved.
func (k Kind) Transient() bool {
	switch k {
	case KindTextStart, KindTextDelta, KindReasoningStart, KindReasoningDelta, KindReasoningEnd, KindArgumentsDelta, KindToolCallDelta:
		return true
	}
	return false
}

func (SessionStart) Kind() Kind      { return KindSessionStart }
func (SessionEnd) Kind() Kind        { return KindSessionEnd }
func (SessionResume) Kind() Kind     { return KindSessionResume }
func (Continue) Kind() Kind          { return KindContinue }
func (Interrupted) Kind() Kind       { return KindInterrupted }
func (UserInput) Kind() Kind         { return KindUserInput }
func (ProcessingEnd) Kind() Kind     { return KindProcessingEnd }
func (ModelCallStart) Kind() Kind    { return KindModelCallStart }
func (ModelCallEnd) Kind() Kind      { return KindModelCallEnd }
func (ModelRetry) Kind() Kind        { return KindModelRetry }
func (TextStart) Kind() Kind         { return KindTextStart }
func (TextDelta) Kind() Kind         { return KindTextDelta }
func (TextEnd) Kind() Kind           { return KindTextEnd }
func (ReasoningStart) Kind() Kind    { return KindReasoningStart }
func (ReasoningDelta) Kind() Kind    { return KindReasoningDelta }
func (ReasoningEnd) Kind() Kind      { return KindReasoningEnd }
func (ArgumentsDelta) Kind() Kind    { return KindArgumentsDelta }
func (ToolCallStart) Kind() Kind     { return KindToolCallStart }
func (ToolCallDelta) Kind() Kind     { return KindToolCallDelta }
func (ToolCallEnd) Kind() Kind       { return KindToolCallEnd }
func (ApprovalRequested) Kind() Kind { return KindApprovalRequested }
func (ApprovalResolved) Kind() Kind  { return KindApprovalResolved }
func (QuestionAsked) Kind() Kind     { return KindQuestionAsked }
func (QuestionAnswered) Kind() Kind  { return KindQuestionAnswered }
func (SteeringQueued) Kind() Kind    { return KindSteeringQueued }
func (SteeringInjected) Kind() Kind  { return KindSteeringInjected }
func (SteeringWithdrawn) Kind() Kind { return KindSteeringWithdrawn }
func (TurnLimit) Kind() Kind         { return KindTurnLimit }
func (LoopDetection) Kind() Kind     { return KindLoopDetection }
func (Settings) Kind() Kind          { return KindSettings }
func (CacheBroken) Kind() Kind       { return KindCacheBroken }
func (ModelFallback) Kind() Kind     { return KindModelFallback }
func (Compaction) Kind() Kind        { return KindCompaction }
func (Quarantine) Kind() Kind        { return KindQuarantine }
func (Checkpoint) Kind() Kind        { return KindCheckpoint }
func (RewindStart) Kind() Kind       { return KindRewindStart }
func (Rewind) Kind() Kind            { return KindRewind }
func (SubagentStart) Kind() Kind     { return KindSubagentStart }
func (SubagentEnd) Kind() Kind       { return KindSubagentEnd }
func (Task) Kind() Kind              { return KindTask }
func (Team) Kind() Kind              { return KindTeam }
func (Mail) Kind() Kind              { return KindMail }
func (Hook) Kind() Kind              { return KindHook }
func (Warning) Kind() Kind           { return KindWarning }
func (Error) Kind() Kind             { return KindError }

// dataTypes maps each kind to its data type.
var dataTypes = typesOf(
	SessionStart{}, SessionEnd{}, SessionResume{}, Continue{}, Interrupted{}, UserInput{}, ProcessingEnd{},
	ModelCallStart{}, ModelCallEnd{}, ModelRetry{}, TextStart{}, TextDelta{}, TextEnd{}, ReasoningStart{},
	ReasoningDelta{}, ReasoningEnd{}, ArgumentsDelta{}, ToolCallStart{}, ToolCallDelta{}, ToolCallEnd{},
	ApprovalRequested{}, ApprovalResolved{}, QuestionAsked{}, QuestionAnswered{}, SteeringQueued{}, SteeringInjected{}, SteeringWithdrawn{}, TurnLimit{},
	LoopDetection{}, Settings{}, CacheBroken{}, ModelFallback{}, Compaction{}, Quarantine{}, Checkpoint{},
	RewindStart{}, Rewind{}, SubagentStart{}, SubagentEnd{}, Task{}, Team{}, Mail{}, Hook{}, Warning{}, Error{},
)

func typesOf(all ...Data) map[Kind]reflect.Type {
	types := make(map[Kind]reflect.Type, len(all))
	for _, d := range all {
		types[d.Kind()] = reflect.TypeOf(d)
	}
	return types
}

func decodeData(kind Kind, raw json.RawMessage) (Data, error) {
	t, known := dataTypes[kind]
	if !known {
		return Unknown{kind, raw}, nil
	}
	v := reflect.New(t)
	err := json.Unmarshal(raw, v.Interface())
	return v.Elem().Interface().(Data), err
}
