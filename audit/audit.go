// Package audit keeps a tamper-evident log of tool calls.
//
// The log is a file with one JSON object per line, an [Entry]. Each line has a number, the previous line's hash (prev)
// and its own hash, over everything before it in the line. [Verify] finds lines that were changed, removed, inserted or
// reordered. Several processes can append to one log. When a file reaches its maximum size, it is renamed to
// audit.jsonl.1 and the chain continues in a new file.
//
// An attacker who can write the log and recomputes all hashes leaves no trace in it. To detect that too, keep the last
// hash elsewhere and pass it to [Verify] later.
package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// Entry is one tool call. Arguments, commands and messages must not contain secrets.
type Entry struct {
	Time    time.Time       `json:"time"`
	Trace   string          `json:"trace_id"` // the session; for a subagent, / and its path follow
	Call    string          `json:"tool_call_id"`
	Name    string          `json:"name"`              // as called
	Tool    string          `json:"tool,omitempty"`    // the registered name, if it differs
	Version string          `json:"version,omitempty"` // tool version
	Args    json.RawMessage `json:"args,omitempty"`

	Decision Decision  `json:"decision"`
	Approval *Approval `json:"approval,omitempty"`

	OK       bool   `json:"ok"`
	Error    string `json:"error_code,omitempty"`
	Duration int64  `json:"duration_ms"`
	Waited   int64  `json:"waited_ms"` // time spent waiting for approval

	FilesChanged []string `json:"files_changed,omitempty"`
	CommandsRun  []string `json:"commands_run,omitempty"`
}

// Decision explains why a call was permitted or refused.
type Decision struct {
	Verdict string `json:"verdict"`
	Code    string `json:"code,omitempty"`
	Rule    string `json:"rule"`
	Reason  string `json:"reason,omitempty"`
}

// Approval is a user's or host's answer to an approval request.
type Approval struct {
	Allowed bool   `json:"allowed"`
	Scope   string `json:"scope,omitempty"`
	Message string `json:"message,omitempty"`
}

// Line is an entry in a log.
type Line struct {
	Seq int64 `json:"seq"` // counts from 1
	Entry
	// Torn is the hash of an incomplete line before this one. A killed process or a full disk leaves such a line.
	Torn string `json:"torn,omitempty"`
	// Dropped is the last line number in the oldest file, if rotation removed that file when it began this one.
	Dropped int64  `json:"dropped,omitempty"`
	Prev    string `json:"prev"` // hash of the previous line, "" for the first
	Hash    string `json:"hash"`
}

const hashMember = `,"hash":"`

// encode returns a line with its hash.
func (l *Line) encode() ([]byte, error) {
	type plain Line
	l.Hash = ""
	b, err := json.Marshal((*plain)(l))
	if err != nil {
		return nil, fmt.Errorf("cannot encode an audit line: %w", err)
	}
	b = bytes.TrimSuffix(b, []byte(hashMember+`"}`))
	l.Hash = hashOf(b)
	return append(b, hashMember+l.Hash+"\"}\n"...), nil
}

// decode reads a line and checks its hash.
func decode(b []byte) (Line, error) {
	var l Line
	if err := json.Unmarshal(b, &l); err != nil {
		return l, errNotALine
	}
	if body, ok := bytes.CutSuffix(b, []byte(hashMember+l.Hash+`"}`)); !ok || hashOf(body) != l.Hash {
		return l, errChanged
	}
	return l, nil
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
