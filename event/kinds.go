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
	KindBackgroundEnd     Kind = "BACKGROUND_END"
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

func (SessionStart) kind() Kind      { return KindSessionStart }
func (SessionEnd) kind() Kind        { return KindSessionEnd }
func (SessionResume) kind() Kind     { return KindSessionResume }
func (Continue) kind() Kind          { return KindContinue }
func (Interrupted) kind() Kind       { return KindInterrupted }
func (UserInput) kind() Kind         { return KindUserInput }
func (ProcessingEnd) kind() Kind     { return KindProcessingEnd }
func (ModelCallStart) kind() Kind    { return KindModelCallStart }
func (ModelCallEnd) kind() Kind      { return KindModelCallEnd }
func (ModelRetry) kind() Kind        { return KindModelRetry }
func (TextStart) kind() Kind         { return KindTextStart }
func (TextDelta) kind() Kind         { return KindTextDelta }
func (TextEnd) kind() Kind           { return KindTextEnd }
func (ReasoningStart) kind() Kind    { return KindReasoningStart }
func (ReasoningDelta) kind() Kind    { return KindReasoningDelta }
func (ReasoningEnd) kind() Kind      { return KindReasoningEnd }
func (ArgumentsDelta) kind() Kind    { return KindArgumentsDelta }
func (ToolCallStart) kind() Kind     { return KindToolCallStart }
func (ToolCallDelta) kind() Kind     { return KindToolCallDelta }
func (ToolCallEnd) kind() Kind       { return KindToolCallEnd }
func (BackgroundEnd) kind() Kind     { return KindBackgroundEnd }
func (ApprovalRequested) kind() Kind { return KindApprovalRequested }
func (ApprovalResolved) kind() Kind  { return KindApprovalResolved }
func (QuestionAsked) kind() Kind     { return KindQuestionAsked }
func (QuestionAnswered) kind() Kind  { return KindQuestionAnswered }
func (SteeringQueued) kind() Kind    { return KindSteeringQueued }
func (SteeringInjected) kind() Kind  { return KindSteeringInjected }
func (SteeringWithdrawn) kind() Kind { return KindSteeringWithdrawn }
func (TurnLimit) kind() Kind         { return KindTurnLimit }
func (LoopDetection) kind() Kind     { return KindLoopDetection }
func (Settings) kind() Kind          { return KindSettings }
func (CacheBroken) kind() Kind       { return KindCacheBroken }
func (ModelFallback) kind() Kind     { return KindModelFallback }
func (Compaction) kind() Kind        { return KindCompaction }
func (Quarantine) kind() Kind        { return KindQuarantine }
func (Checkpoint) kind() Kind        { return KindCheckpoint }
func (RewindStart) kind() Kind       { return KindRewindStart }
func (Rewind) kind() Kind            { return KindRewind }
func (SubagentStart) kind() Kind     { return KindSubagentStart }
func (SubagentEnd) kind() Kind       { return KindSubagentEnd }
func (Task) kind() Kind              { return KindTask }
func (Team) kind() Kind              { return KindTeam }
func (Mail) kind() Kind              { return KindMail }
func (Hook) kind() Kind              { return KindHook }
func (Warning) kind() Kind           { return KindWarning }
func (Error) kind() Kind             { return KindError }

// dataTypes maps each kind to its data type.
var dataTypes = typesOf(
	SessionStart{}, SessionEnd{}, SessionResume{}, Continue{}, Interrupted{}, UserInput{}, ProcessingEnd{},
	ModelCallStart{}, ModelCallEnd{}, ModelRetry{}, TextStart{}, TextDelta{}, TextEnd{}, ReasoningStart{},
	ReasoningDelta{}, ReasoningEnd{}, ArgumentsDelta{}, ToolCallStart{}, ToolCallDelta{}, ToolCallEnd{},
	BackgroundEnd{}, ApprovalRequested{}, ApprovalResolved{}, QuestionAsked{}, QuestionAnswered{}, SteeringQueued{},
	SteeringInjected{}, SteeringWithdrawn{}, TurnLimit{}, LoopDetection{}, Settings{}, CacheBroken{}, ModelFallback{},
	Compaction{}, Quarantine{}, Checkpoint{}, RewindStart{}, Rewind{}, SubagentStart{}, SubagentEnd{}, Task{}, Team{},
	Mail{}, Hook{}, Warning{}, Error{},
)

func typesOf(all ...Data) map[Kind]reflect.Type {
	types := make(map[Kind]reflect.Type, len(all))
	for _, d := range all {
		types[d.kind()] = reflect.TypeOf(d)
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
