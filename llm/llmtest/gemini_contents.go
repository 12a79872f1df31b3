package llmtest

import (
	"fmt"
	"slices"
)

// geminiCallRef is a function call without a response.
type geminiCallRef struct{ id, name string }

// contents checks that roles alternate and that the content after function calls answers each exactly once.
func (c *geminiCheck) contents(v any) {
	list := c.list("contents", v)
	if len(list) == 0 {
		c.fail("contents is not specified")
		return
	}
	last := ""
	c.turn = turnStart(list)
	var open []geminiCallRef
	for i, v := range list {
		path := fmt.Sprintf("contents[%d]", i)
		content := c.object(path, v, "role", "parts")
		role, _ := content["role"].(string)
		if role == "" && len(list) == 1 {
			role = "user"
		}
		switch {
		case role != "user" && role != "model":
			c.fail("Please use a valid role: user, model.")
		case role == last:
			c.fail("%s: Please ensure that multiturn requests alternate between user and model.", path)
		case last == "" && role != "user":
			c.fail("%s: Please ensure that the conversation begins with a user turn.", path)
		}
		last = role
		open = c.content(path, role, c.list(path+".parts", content["parts"]), open, c.needsSignature(i))
	}
	if last != "user" {
		c.fail("Please ensure that multiturn requests end with a user turn.")
	}
}

// content checks one content, which must answer the open calls, and returns its own calls. Signed means that the first
// of them must have a signature.
func (c *geminiCheck) content(path, role string, parts []any, open []geminiCallRef, signed bool) (calls []geminiCallRef) {
	if len(parts) == 0 {
		c.fail("%s.parts must not be empty", path)
	}
	asked, answers := len(open), 0
	for i, v := range parts {
		at := fmt.Sprintf("%s.parts[%d]", path, i)
		part := c.part(at, v)
		if f, ok := part["functionCall"].(map[string]any); ok {
			if role != "model" {
				c.fail("%s: a function call must have the role model", at)
			}
			if signed && len(calls) == 0 && part["thoughtSignature"] == nil {
				c.fail("Function call is missing a thought_signature in functionCall parts, at %s. This is required for tools to work correctly.", at)
			}
			c.signature(at, part, f)
			calls = append(calls, c.call(at, f))
		}
		if f, ok := part["functionResponse"].(map[string]any); ok {
			if role != "user" {
				c.fail("%s: a function response must have the role user", at)
			}
			answers++
			open = c.response(at, f, open)
		}
	}
	if answers != asked {
		c.fail("%s: Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn (%d, not %d).", path, asked, answers)
	}
	return calls
}

// geminiData lists the members of which a part has exactly one.
var geminiData = []string{"text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult", "toolCall", "toolResponse"}

func (c *geminiCheck) part(path string, v any) map[string]any {
	known := append([]string{"thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"}, geminiData...)
	part := c.object(path, v, known...)
	data := 0
	for key := range part {
		if slices.Contains(geminiData, key) {
			data++
		}
	}
	signed := part["thoughtSignature"] != nil
	switch {
	case data == 0 && !signed || data > 1:
		c.fail("%s.data: required oneof field 'data' must have one initialized field", path)
	case part["text"] == "" && !signed:
		c.fail("Unable to submit request because it has an empty text parameter, at %s", path)
	case signed && !geminiBase64(part["thoughtSignature"]):
		c.fail("Invalid value at '%s.thoughtSignature': Base64 decoding failed", path)
	}
	c.media(path, part)
	return part
}

func (c *geminiCheck) media(path string, part map[string]any) {
	if v, ok := part["inlineData"]; ok {
		blob := c.object(path+".inlineData", v, "mimeType", "data", "displayName")
		if mime, _ := blob["mimeType"].(string); mime == "" {
			c.fail("%s.inlineData: missing mimeType", path)
		}
		if !geminiBase64(blob["data"]) || blob["data"] == "" {
			c.fail("Invalid value at '%s.inlineData.data': Base64 decoding failed", path)
		}
	}
	if v, ok := part["fileData"]; ok {
		file := c.object(path+".fileData", v, "mimeType", "fileUri", "displayName")
		if uri, _ := file["fileUri"].(string); uri == "" {
			c.fail("%s.fileData: missing fileUri", path)
		}
	}
}

func (c *geminiCheck) call(path string, f map[string]any) geminiCallRef {
	c.object(path+".functionCall", f, "id", "name", "args")
	name, _ := f["name"].(string)
	id, _ := f["id"].(string)
	if !geminiName.match(name) {
		c.fail("%s.functionCall.name: Name cannot be empty or malformed: %q", path, name)
	}
	if _, ok := f["args"].(map[string]any); !ok && f["args"] != nil {
		c.fail("Invalid value at '%s.functionCall.args': an object is expected", path)
	}
	return geminiCallRef{id, name}
}

// response removes the answered call from open.
func (c *geminiCheck) response(path string, f map[string]any, open []geminiCallRef) []geminiCallRef {
	c.object(path+".functionResponse", f, "id", "name", "response", "parts", "willContinue", "scheduling")
	name, _ := f["name"].(string)
	id, _ := f["id"].(string)
	if _, ok := f["response"].(map[string]any); !ok {
		c.fail("Invalid value at '%s.functionResponse.response': an object is expected", path)
	}
	for i, p := range c.list(path+".functionResponse.parts", f["parts"]) {
		at := fmt.Sprintf("%s.functionResponse.parts[%d]", path, i)
		c.media(at, c.object(at, p, "inlineData", "fileData"))
	}
	i := slices.IndexFunc(open, func(r geminiCallRef) bool { return r.name == name && r.id == id })
	if i < 0 {
		c.fail("%s: no open function call for the response %q (id %q)", path, name, id)
		return open
	}
	return slices.Delete(slices.Clone(open), i, i+1)
}
