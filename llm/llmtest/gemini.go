package llmtest

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/reins-agent/reins/internal/wire"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/gemini"
)

// geminiProtocol is the server's side of generateContent and streamGenerateContent. Gemini 3 and later models send ids and
// signatures, and require the signatures back.
type geminiProtocol struct{}

func (geminiProtocol) match(r *http.Request) bool {
	path := r.URL.Path
	return strings.Contains(path, "/models/") && (strings.HasSuffix(path, ":generateContent") || strings.HasSuffix(path, ":streamGenerateContent"))
}

func (geminiProtocol) dialect() wire.Dialect { return gemini.NewDialect(gemini.Config{}) }

func (geminiProtocol) base() (provider, path string) { return "gemini", "" }

func (geminiProtocol) key(r *http.Request) string {
	return bearer(r, "X-Goog-Api-Key")
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

// geminiStatus returns Google's name for an HTTP status.
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

func geminiJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("llmtest: " + err.Error())
	}
	return b
}

// geminiFrame encodes a server-sent event with CRLF, like Google.
func geminiFrame(data []byte) []byte {
	return append(append([]byte("data: "), data...), "\r\n\r\n"...)
}

func (geminiProtocol) unary(rep reply) []byte {
	rep.Chunk = 1 << 30
	return geminiResponse(rep, geminiParts(rep), true)
}

// stream encodes a response for every part, and a last response that ends the answer.
func (geminiProtocol) stream(rep reply) [][]byte {
	var frames [][]byte
	for _, part := range geminiParts(rep) {
		frames = append(frames, geminiFrame(geminiResponse(rep, []geminiObject{part}, false)))
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

// geminiParts returns an answer's parts as they are streamed: text in pieces, with its signature on an empty text after
// it; calls whole.
func geminiParts(rep reply) (parts []geminiObject) {
	add := func(part geminiObject, signature string) {
		if signature != "" {
			part["thoughtSignature"] = signature
		}
		parts = append(parts, part)
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
				sig = geminiSign(call)
			}
			called = true
			add(geminiObject{"functionCall": call}, sig)
		case llm.Image:
			add(geminiObject{"inlineData": geminiObject{"mimeType": p.MIME, "data": p.Data}}, "")
		case llm.Opaque:
			var part geminiObject
			if p.State.Dialect == gemini.Name && json.Unmarshal(p.State.Data, &part) == nil {
				add(part, "")
			}
		}
	}
	return parts
}

// geminiSignature returns the signature for a state in the script.
func geminiSignature(s llm.State) string {
	if s.Dialect != gemini.Name || len(s.Data) == 0 {
		return ""
	}
	if _, err := base64.StdEncoding.DecodeString(string(s.Data)); err == nil {
		return string(s.Data)
	}
	return base64.StdEncoding.EncodeToString(s.Data)
}

// geminiCall returns a function call. Calls with truncated arguments are never sent.
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

// geminiStrict reports whether a model requires its signatures back.
func geminiStrict(model string) bool {
	rest, ok := strings.CutPrefix(model[strings.LastIndexByte(model, '/')+1:], "gemini-")
	return ok && rest != "" && rest[0] >= '3' && rest[0] <= '9'
}
