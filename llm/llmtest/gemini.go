package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/gemini"
	"github.com/reins-agent/reins/llm/wire"
)

// geminiProtocol is the server's side of generateContent and streamGenerateContent. Models from
// Gemini 3 on give ids and signatures, and want the signatures back; older ones do neither.
type geminiProtocol struct{}

func (geminiProtocol) match(r *http.Request) bool {
	path := r.URL.Path
	return strings.Contains(path, "/models/") && (strings.HasSuffix(path, ":generateContent") || strings.HasSuffix(path, ":streamGenerateContent"))
}

func (geminiProtocol) dialect() wire.Dialect { return gemini.NewDialect(gemini.Config{}) }

func (geminiProtocol) base() (provider, path string) { return "gemini", "" }

func (geminiProtocol) key(r *http.Request) string {
	if key := r.Header.Get("X-Goog-Api-Key"); key != "" {
		return key
	}
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}

func (geminiProtocol) streaming(r *http.Request, _ []byte) bool {
	return strings.HasSuffix(r.URL.Path, ":streamGenerateContent")
}

func (geminiProtocol) refusal() (string, func([]any) string) {
	return "contents", func(path []any) string {
		return "Invalid value at '" + bracketed(path) + "': the content could not be processed"
	}
}

func (geminiProtocol) requestID(id string) (header, value string) { return "X-Goog-Request-Id", id }

func (geminiProtocol) failure(status int, message string) []byte {
	return geminiJSON(geminiObject{"error": geminiObject{"code": status, "message": message, "status": geminiStatus(status)}})
}

func (p geminiProtocol) midFailure(status int, message string) []byte {
	return geminiFrame(p.failure(status, message))
}

// geminiStatus is Google's word for an HTTP status.
func geminiStatus(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "UNAUTHENTICATED"
	case http.StatusForbidden:
		return "PERMISSION_DENIED"
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusTooManyRequests:
		return "RESOURCE_EXHAUSTED"
	case http.StatusInternalServerError:
		return "INTERNAL"
	case http.StatusGatewayTimeout:
		return "DEADLINE_EXCEEDED"
	}
	if status >= 500 {
		return "UNAVAILABLE"
	}
	return "INVALID_ARGUMENT"
}

type geminiObject = map[string]any

// geminiJSON encodes values that have been checked to be encodable.
func geminiJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("llmtest: " + err.Error())
	}
	return b
}

// geminiFrame is a server-sent event as Google frames it.
func geminiFrame(data []byte) []byte {
	return append(append([]byte("data: "), data...), "\r\n\r\n"...)
}

func (geminiProtocol) unary(rep reply) []byte {
	var parts []geminiObject
	whole := rep
	whole.Chunk = 1 << 30
	for _, step := range geminiSteps(whole) {
		parts = append(parts, step...)
	}
	return geminiResponse(rep, parts, true)
}

// stream writes a response for every step and one that only ends the answer.
func (geminiProtocol) stream(rep reply) [][]byte {
	var frames [][]byte
	for _, step := range geminiSteps(rep) {
		frames = append(frames, geminiFrame(geminiResponse(rep, step, false)))
	}
	return append(frames, geminiFrame(geminiResponse(rep, []geminiObject{{"text": ""}}, true)))
}

func geminiResponse(rep reply, parts []geminiObject, last bool) []byte {
	candidate := geminiObject{"content": geminiObject{"parts": parts, "role": "model"}, "index": 0}
	usage := geminiObject{"promptTokenCount": rep.Usage.Input, "totalTokenCount": rep.Usage.Input}
	if last {
		candidate["finishReason"] = geminiFinish(rep.Finish)
		usage["candidatesTokenCount"] = rep.Usage.Output - rep.Usage.Reasoning
		usage["totalTokenCount"] = rep.Usage.Input + rep.Usage.Output
		if rep.Usage.Reasoning > 0 {
			usage["thoughtsTokenCount"] = rep.Usage.Reasoning
		}
		if rep.Usage.CacheRead > 0 {
			usage["cachedContentTokenCount"] = rep.Usage.CacheRead
		}
	}
	return geminiJSON(geminiObject{
		"candidates": []any{candidate}, "usageMetadata": usage, "modelVersion": rep.Model, "responseId": "resp-" + rep.ID,
	})
}

func geminiFinish(reason llm.FinishReason) string {
	switch reason {
	case llm.FinishStop, llm.FinishToolCalls:
		return "STOP"
	case llm.FinishLength:
		return "MAX_TOKENS"
	case llm.FinishContentFilter:
		return "SAFETY"
	case llm.FinishError:
		return "MALFORMED_FUNCTION_CALL"
	}
	return "OTHER"
}

// geminiSteps are the parts of an answer, step by step as they are streamed. Text arrives in
// pieces, and its signature behind it on an empty one; calls arrive whole.
func geminiSteps(rep reply) [][]geminiObject {
	var steps [][]geminiObject
	add := func(part geminiObject, signature string) {
		if signature != "" {
			part["thoughtSignature"] = signature
		}
		steps = append(steps, []geminiObject{part})
	}
	strict := geminiStrict(rep.Model)
	called := false
	for _, p := range rep.Parts {
		switch p := p.(type) {
		case llm.Text:
			for _, s := range chunks(p.Text, rep.Chunk) {
				add(geminiObject{"text": s}, "")
			}
			if sig := geminiSignature(p.State); sig != "" {
				add(geminiObject{"text": ""}, sig)
			}
		case llm.Thinking:
			if sig := geminiSignature(p.State); sig != "" {
				add(geminiObject{"text": p.Text, "thought": true}, sig)
				continue
			}
			for _, s := range chunks(p.Text, rep.Chunk) {
				add(geminiObject{"text": s, "thought": true}, "")
			}
		case llm.ToolCall:
			call, whole := geminiCall(p, strict)
			if !whole {
				continue
			}
			sig := geminiSignature(p.State)
			if sig == "" && strict && !called {
				sig = base64.StdEncoding.EncodeToString([]byte("thoughts of answer " + rep.ID))
			}
			called = true
			add(geminiObject{"functionCall": call}, sig)
		case llm.Image:
			add(geminiObject{"inlineData": geminiObject{"mimeType": p.MIME, "data": p.Data}}, "")
		case llm.Opaque:
			if p.State.Dialect == gemini.Name && json.Valid(p.State.Data) {
				var part geminiObject
				if json.Unmarshal(p.State.Data, &part) == nil {
					add(part, "")
				}
			}
		}
	}
	return steps
}

// geminiSignature is the signature that a scripted state stands for.
func geminiSignature(s llm.State) string {
	if s.Dialect != gemini.Name || len(s.Data) == 0 {
		return ""
	}
	if _, err := base64.StdEncoding.DecodeString(string(s.Data)); err == nil {
		return string(s.Data)
	}
	return base64.StdEncoding.EncodeToString(s.Data)
}

// geminiCall is a function call. One whose arguments are cut off is never sent.
func geminiCall(c llm.ToolCall, withID bool) (call geminiObject, whole bool) {
	call = geminiObject{"name": c.Name}
	if withID {
		call["id"] = c.ID
	}
	switch {
	case c.Custom:
		call["args"] = geminiObject{"input": c.Arguments}
	case c.Arguments == "":
		call["args"] = geminiObject{}
	case json.Valid([]byte(c.Arguments)):
		call["args"] = json.RawMessage(c.Arguments)
	default:
		return nil, false
	}
	return call, true
}

// geminiStrict reports whether a model wants its signatures back.
func geminiStrict(model string) bool {
	rest, ok := strings.CutPrefix(model[strings.LastIndexByte(model, '/')+1:], "gemini-")
	return ok && rest != "" && rest[0] >= '3' && rest[0] <= '9'
}
