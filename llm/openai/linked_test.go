package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/wire"
)

// TestCorpus_EncryptedReasoningGoesBackAsRealClientsSentIt replays recorded sessions: what the next
// real request echoes of an answer must stand in the request that we make of that answer. A
// stream encrypts its reasoning twice, and either value will do.
func TestCorpus_EncryptedReasoningGoesBackAsRealClientsSentIt(t *testing.T) {
	all := make(map[string]interaction)
	for _, x := range corpus(t) {
		all[x.ID] = x
	}
	root := os.Getenv("REINS_CORPUS")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared", "corpus")
	}
	f, err := os.Open(filepath.Join(root, "open", "sessions", "linked.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	echoed := 0
	for lines.Scan() {
		var session struct {
			Protocol string
			Steps    []string
		}
		if err := json.Unmarshal(lines.Bytes(), &session); err != nil {
			t.Fatal(err)
		}
		if session.Protocol != Name {
			continue
		}
		for i := range len(session.Steps) - 1 {
			echoed += checkEcho(t, all[session.Steps[i]], all[session.Steps[i+1]])
		}
	}
	if echoed == 0 {
		t.Error("no session echoes anything")
	}
	t.Logf("%d encrypted values were echoed", echoed)
}

func checkEcho(t *testing.T, x, next interaction) (echoed int) {
	t.Helper()
	first, second := x.request(t), next.request(t)
	if first == nil || second == nil {
		return 0
	}
	d := NewDialect(Config{})
	r, _, err := d.Parse(first)
	if err != nil {
		t.Fatal(err)
	}
	later, _, err := d.Parse(second)
	if err != nil {
		t.Fatal(err)
	}
	var streamed []llm.Part
	a := wire.NewAssembler(Name, r.Model, func(ev llm.StreamEvent) bool {
		if end, ok := ev.(llm.ThinkingEnd); ok {
			streamed = append(streamed, end.Thinking)
		}
		return true
	})
	if err := wire.Read(d, wire.Answer{Body: bytes.NewReader(x.response()), Stream: x.Streaming}, a); err != nil {
		t.Fatal(x.ID, err)
	}
	r.Messages = append(r.Messages, a.Response().Message, llm.Message{Role: llm.RoleAssistant, Parts: append(streamed, llm.Text{Text: "."})})
	sent := body(t, r)
	for _, m := range later.Messages {
		for _, p := range m.Parts {
			value := wire.Value(stateOf(p)).Get("encrypted_content")
			if _, ok := p.(llm.Thinking); !ok || !value.Exists() || !bytes.Contains(x.response(), value) {
				continue
			}
			echoed++
			if !bytes.Contains(sent, value) {
				t.Errorf("%s: an encrypted value is not sent back", x.ID)
			}
		}
	}
	return echoed
}
