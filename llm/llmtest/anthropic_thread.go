package llmtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
)

// claudeKey signs thinking. It is constant, so that sessions continue on another server.
const claudeKey = "llmtest"

// claudeThread is a conversation as Anthropic's API binds thinking to it. Hash covers the system prompt, the tools and
// all blocks so far, but neither thinking nor cache_control.
type claudeThread struct {
	rules   *claudeRules
	betas   betaSet
	hidden  bool // the text of thinking is omitted
	head    string
	hash    string
	role    string // role of the last block
	live    []claudeSeal
	changes []json.RawMessage // of tools
	drops   []claudeDrop

	compacted bool // the last block was a compaction

	drop  bool // remove thinking that fails the check
	allow bool // report it only
	skip  bool // check nothing
}

// claudeSeal is a signature that was taken apart. Previous identifies the thinking before it that its author read.
type claudeSeal struct{ author, previous, mac, id string }

// claudeDrop is an entry of input_transformations.
type claudeDrop struct{ kind, path, reason string }

// claudeThreadOf checks the signatures in a request and returns its conversation, or nil if the model has no rules.
func claudeThreadOf(config ServerConfig, model string, betas betaSet, v wire.Value) (*claudeThread, error) {
	rules := claudeRulesOf(model)
	if rules == nil {
		return nil, nil
	}
	mode := v.Get("thinking")
	display, binding := mode.Get("display"), mode.Get("block_binding")
	t := &claudeThread{
		rules:  rules,
		betas:  betas,
		hidden: display.Is("omitted") || rules.hides && !display.Exists() && !mode.Get("type").Is("between_tools"),
		drop:   binding.Get("prefix_mismatch_behavior").Is("drop_block") && !config.NeverDrop,
		allow:  config.OldAccount && !rules.everyone && !binding.Exists(),
		skip:   !rules.bound || mode.Get("type").Is("disabled"),
	}
	t.begin(v)
	return t, t.messages(v.Get("messages"))
}

// fork returns a copy that an answer continues.
func (t *claudeThread) fork() *claudeThread {
	if t == nil {
		return nil
	}
	f := *t
	f.live = slices.Clip(t.live)
	return &f
}

// begin hashes the system prompt and the tools that are loaded.
func (t *claudeThread) begin(v wire.Value) {
	for it := claudeContent(v.Get("system")).Elements(); it.Next(); {
		t.add("instructions", it.Value)
	}
	for it := v.Get("tools").Elements(); it.Next(); {
		if !it.Value.Get("defer_loading").Bool() {
			t.add("tool", it.Value)
		}
	}
	t.head = t.hash
}

func (t *claudeThread) messages(list wire.Value) error {
	i := 0
	for it := list.Elements(); it.Next(); i++ {
		role := it.Value.Get("role").Str()
		settings := wire.Rest(it.Value, func(name string, _ wire.Value) bool { return name == "role" || name == "content" })
		if len(settings) > len("{}") {
			t.add(role+" settings", settings)
		}
		j := 0
		for b := claudeContent(it.Value.Get("content")).Elements(); b.Next(); j++ {
			if err := t.block(fmt.Sprintf("messages.%d.content.%d", i, j), role, b.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// block adds a request block after checking it.
func (t *claudeThread) block(path, role string, b wire.Value) error {
	kind := b.Get("type").Str()
	if kind == "compaction" {
		return t.restore(path, b)
	}
	if t.compacted && (role == t.role || role == "system") { // the API merges it with the last summarized message
		t.add("merged", wire.Value("{}"))
	}
	t.role, t.compacted = role, false
	switch kind {
	case "thinking":
		return t.check(path, kind, b.Get("thinking").Str(), b.Get("signature").Str())
	case "redacted_thinking":
		return t.check(path, kind, "", b.Get("data").Str())
	case "tool_addition", "tool_removal":
		t.changes = append(t.changes, canonical(b))
	}
	t.add(role, b)
	return nil
}

// add hashes a block.
func (t *claudeThread) add(role string, b wire.Value) {
	t.hash = fmt.Sprintf("%x", sha256.Sum256([]byte(t.hash+"\n"+role+"\n"+string(canonical(b)))))
}

// sign returns the signature for the model's next thinking.
func (t *claudeThread) sign(kind, text string) string {
	s := claudeSeal{author: t.rules.name, previous: t.previous(t.rules)}
	s.mac = t.mac(s, kind, text)
	signature := base64.StdEncoding.EncodeToString([]byte(strings.Join([]string{"thinking", s.author, s.previous, s.mac}, "|")))
	s.id = s.mac[:16]
	t.live = append(t.live, s)
	return signature
}

// previous identifies the last thinking that a model read.
func (t *claudeThread) previous(reader *claudeRules) string {
	for i := len(t.live) - 1; i >= 0; i-- {
		if reader.canRead(t.live[i].author) {
			return t.live[i].id
		}
	}
	return ""
}

func (t *claudeThread) mac(s claudeSeal, kind, text string) string {
	return fmt.Sprintf("%x", hmac256([]byte(claudeKey), strings.Join([]string{s.author, t.hash, s.previous, kind, text}, "\n")))
}

// check verifies thinking in a request. Another model's thinking is dropped. Thinking may be missing before the first
// that the author read, not between others.
func (t *claudeThread) check(path, kind, text, signature string) error {
	s, ok := claudeUnseal(signature)
	author := claudeRulesOf(s.author)
	if ok && author != nil && !t.rules.canRead(s.author) {
		t.drops = append(t.drops, claudeDrop{"thinking_dropped", path, "model_binding_mismatch"})
		return nil
	}
	if t.skip {
		if ok {
			t.live = append(t.live, s)
		}
		return nil
	}
	if ok && author != nil && s.mac == t.mac(s, kind, text) {
		if before := t.previous(author); before == "" || before == s.previous {
			t.live = append(t.live, s)
			return nil
		}
	}
	switch {
	case t.drop:
		t.drops = append(t.drops, claudeDrop{"thinking_dropped", path, "prefix_binding_mismatch"})
		return nil
	case t.allow:
		t.drops = append(t.drops, claudeDrop{"thinking_mismatch_allowed", path, "prefix_binding_mismatch"})
		t.live = append(t.live, s)
		return nil
	}
	return apiErrorf("%s: Invalid `signature` in `%s` block. The block is bound to a different conversation. "+
		"Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".", path, kind)
}

func claudeUnseal(signature string) (s claudeSeal, ok bool) {
	b, err := base64.StdEncoding.DecodeString(signature)
	f := strings.Split(string(b), "|")
	if err != nil || len(f) != 4 || f[0] != "thinking" || len(f[3]) != 64 {
		return s, false
	}
	return claudeSeal{author: f[1], previous: f[2], mac: f[3], id: f[3][:16]}, true
}

// compact returns a signed block that replaces all messages so far. Its signature contains the conversation's hash, so
// that thinking in later messages can still be verified.
func (t *claudeThread) compact(content wire.Value) anthropicBlock {
	changes := list(t.changes...)
	if !content.Exists() {
		content = wire.Value("null")
	}
	hash := t.hash
	if !t.rules.bound { // only models with the check keep thinking valid
		hash = ""
	}
	fields := []string{"compaction", t.head, hash, t.role}
	fields = append(fields, t.summaryMAC(fields, content, wire.Value(changes)))
	signature := base64.StdEncoding.EncodeToString([]byte(strings.Join(fields, "|")))
	block := func(content wire.Value) json.RawMessage {
		return object("type", "compaction", "content", json.RawMessage(content), "encrypted_content", nil,
			"signature", signature, "tool_changes", changes)
	}
	return anthropicBlock{
		whole:  block(content),
		start:  block(wire.Value("null")),
		deltas: []json.RawMessage{object("type", "compaction_delta", "content", json.RawMessage(content), "encrypted_content", nil)},
	}
}

func (t *claudeThread) summaryMAC(fields []string, content, changes wire.Value) string {
	text := strings.Join(fields[:4], "\n") + "\n" + content.Str() + "\n" + string(canonical(changes))
	return fmt.Sprintf("%x", hmac256([]byte(claudeKey), text))
}

// restore continues after a compaction block as if the messages that it summarizes were still there, unless the system
// prompt or the tools changed. A block without content is ignored.
func (t *claudeThread) restore(path string, b wire.Value) error {
	if !b.Get("content").Exists() || !b.Get("signature").Exists() {
		t.add("assistant", b)
		return nil
	}
	raw, err := base64.StdEncoding.DecodeString(b.Get("signature").Str())
	f := strings.Split(string(raw), "|")
	changes := b.Get("tool_changes")
	if err != nil || len(f) != 5 || f[0] != "compaction" || f[4] != t.summaryMAC(f, b.Get("content"), changes) {
		return fmt.Errorf("%s: Invalid `signature` in `compaction` block", path)
	}
	for it := changes.Elements(); it.Next(); {
		t.changes = append(t.changes, canonical(it.Value))
	}
	t.role, t.compacted = f[3], true
	if f[1] == t.head && f[2] != "" {
		t.hash = f[2]
		return nil
	}
	t.add("summary", b.Get("content"))
	return nil
}

// transformations encodes how the request's thinking was treated.
func (t *claudeThread) transformations() json.RawMessage {
	var entries []json.RawMessage
	for _, d := range t.drops {
		entries = append(entries, object("type", d.kind, "path", d.path, "reason", d.reason))
	}
	return list(entries...)
}

// claudeContent returns content as a list of blocks.
func claudeContent(v wire.Value) wire.Value {
	switch v.Kind() {
	case '"':
		return wire.Value(list(object("type", "text", "text", v.Str())))
	case '[':
		return v
	}
	return nil
}

// canonical encodes a value with sorted members, without cache_control, null and default values, so that equal content
// has equal bytes.
func canonical(v wire.Value) json.RawMessage {
	var tree any
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return json.RawMessage("null")
	}
	b, err := json.Marshal(plain(tree))
	if err != nil {
		panic("llmtest: " + err.Error())
	}
	return b
}

func plain(tree any) any {
	switch v := tree.(type) {
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		delete(v, "cache_control")
		if v["type"] == "tool_result" {
			plainResult(v)
		}
		for name, member := range v {
			if v[name] = plain(member); v[name] == nil {
				delete(v, name)
			}
		}
	}
	return tree
}

// plainResult turns a tool result's text into a block.
func plainResult(v map[string]any) {
	if text, ok := v["content"].(string); ok {
		v["content"] = []any{map[string]any{"type": "text", "text": text}}
	}
	if v["is_error"] == false {
		delete(v, "is_error")
	}
}

// betaSet is the list of beta features that a request asks for.
type betaSet struct {
	any   bool // unknown
	names []string
}

func (s betaSet) has(name string) bool { return s.any || slices.Contains(s.names, name) }

// claudeBetas returns the beta features in a request's headers.
func claudeBetas(r *http.Request) betaSet {
	if r == nil {
		return betaSet{any: true}
	}
	var s betaSet
	for _, line := range r.Header.Values("Anthropic-Beta") {
		for name := range strings.SplitSeq(line, ",") {
			s.names = append(s.names, strings.TrimSpace(name))
		}
	}
	return s
}
