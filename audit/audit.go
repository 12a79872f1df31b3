// Package audit keeps a log of tool calls in which changes can be noticed later.
//
// The log is a file with one JSON object per line, an [Entry]. Each line has a number, the hash of the line before it
// (prev) and its own hash, over everything before it in the line. [Verify] finds lines that were changed, removed,
// inserted or reordered. Several processes can append to one log. When a file reaches its maximum size, it is renamed
// to audit.jsonl.1 and the chain continues in a new one.
//
// Somebody who can write the log and computes all hashes again leaves no trace in it. To notice that too, keep the
// last hash elsewhere and compare it later.
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
	Trace   string          `json:"trace_id"` // the session, and the path of a subagent after a /
	Call    string          `json:"tool_call_id"`
	Name    string          `json:"name"`              // the name that was called
	Tool    string          `json:"tool,omitempty"`    // the tool's own name, if it differs
	Version string          `json:"version,omitempty"` // of the tool
	Args    json.RawMessage `json:"args,omitempty"`

	Decision Decision  `json:"decision"`
	Approval *Approval `json:"approval,omitempty"`

	OK       bool   `json:"ok"`
	Error    string `json:"error_code,omitempty"`
	Duration int64  `json:"duration_ms"`
	Waited   int64  `json:"waited_ms"` // for the approval

	FilesChanged []string `json:"files_changed,omitempty"`
	CommandsRun  []string `json:"commands_run,omitempty"`
}

// Decision is why a call was permitted or refused.
type Decision struct {
	Verdict string `json:"verdict"`
	Code    string `json:"code,omitempty"`
	Rule    string `json:"rule"`
	Reason  string `json:"reason,omitempty"`
}

// Approval is an answer to the question whether a call may run.
type Approval struct {
	Allowed bool   `json:"allowed"`
	Scope   string `json:"scope,omitempty"`
	Message string `json:"message,omitempty"`
}

// Line is an entry in a log.
type Line struct {
	Seq int64 `json:"seq"` // 1 is the first line
	Entry
	// Torn is the hash of an incomplete line before this one, left by a process that was killed or by a full disk.
	Torn string `json:"torn,omitempty"`
	// Dropped is the number of the last line in the oldest file, if that was removed when this file was begun.
	Dropped int64  `json:"dropped,omitempty"`
	Prev    string `json:"prev"` // the hash of the line before, "" for the first
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
