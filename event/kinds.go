package event

import "encoding/json"

// Each type names its kind.

func (SessionStart) Kind() Kind      { return KindSessionStart }
func (SessionEnd) Kind() Kind        { return KindSessionEnd }
func (SessionResume) Kind() Kind     { return KindSessionResume }
func (SteeringWithdrawn) Kind() Kind { return KindSteeringWithdrawn }
func (ArgumentsDelta) Kind() Kind    { return KindArgumentsDelta }
func (Interrupted) Kind() Kind       { return KindInterrupted }
func (Continue) Kind() Kind          { return KindContinue }
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
func (ToolCallStart) Kind() Kind     { return KindToolCallStart }
func (ToolCallDelta) Kind() Kind     { return KindToolCallDelta }
func (ToolCallEnd) Kind() Kind       { return KindToolCallEnd }
func (ApprovalRequested) Kind() Kind { return KindApprovalRequested }
func (ApprovalResolved) Kind() Kind  { return KindApprovalResolved }
func (SteeringQueued) Kind() Kind    { return KindSteeringQueued }
func (SteeringInjected) Kind() Kind  { return KindSteeringInjected }
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
func (Warning) Kind() Kind           { return KindWarning }
func (Error) Kind() Kind             { return KindError }

// Transient reports whether records of the kind only show something grow, and do not stay in the log.
func (k Kind) Transient() bool {
	switch k {
	case KindTextStart, KindTextDelta, KindReasoningStart, KindReasoningDelta, KindReasoningEnd, KindArgumentsDelta, KindToolCallDelta:
		return true
	}
	return false
}

// decoders reads the data of each kind.
var decoders = map[Kind]func(json.RawMessage) (Data, error){
	KindSessionStart:      decoder[SessionStart],
	KindSessionEnd:        decoder[SessionEnd],
	KindSessionResume:     decoder[SessionResume],
	KindSteeringWithdrawn: decoder[SteeringWithdrawn],
	KindArgumentsDelta:    decoder[ArgumentsDelta],
	KindInterrupted:       decoder[Interrupted],
	KindContinue:          decoder[Continue],
	KindUserInput:         decoder[UserInput],
	KindProcessingEnd:     decoder[ProcessingEnd],
	KindModelCallStart:    decoder[ModelCallStart],
	KindModelCallEnd:      decoder[ModelCallEnd],
	KindModelRetry:        decoder[ModelRetry],
	KindTextStart:         decoder[TextStart],
	KindTextDelta:         decoder[TextDelta],
	KindTextEnd:           decoder[TextEnd],
	KindReasoningStart:    decoder[ReasoningStart],
	KindReasoningDelta:    decoder[ReasoningDelta],
	KindReasoningEnd:      decoder[ReasoningEnd],
	KindToolCallStart:     decoder[ToolCallStart],
	KindToolCallDelta:     decoder[ToolCallDelta],
	KindToolCallEnd:       decoder[ToolCallEnd],
	KindApprovalRequested: decoder[ApprovalRequested],
	KindApprovalResolved:  decoder[ApprovalResolved],
	KindSteeringQueued:    decoder[SteeringQueued],
	KindSteeringInjected:  decoder[SteeringInjected],
	KindTurnLimit:         decoder[TurnLimit],
	KindLoopDetection:     decoder[LoopDetection],
	KindSettings:          decoder[Settings],
	KindCacheBroken:       decoder[CacheBroken],
	KindModelFallback:     decoder[ModelFallback],
	KindCompaction:        decoder[Compaction],
	KindQuarantine:        decoder[Quarantine],
	KindCheckpoint:        decoder[Checkpoint],
	KindRewindStart:       decoder[RewindStart],
	KindRewind:            decoder[Rewind],
	KindSubagentStart:     decoder[SubagentStart],
	KindSubagentEnd:       decoder[SubagentEnd],
	KindWarning:           decoder[Warning],
	KindError:             decoder[Error],
}
