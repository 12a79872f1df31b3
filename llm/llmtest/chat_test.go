package llmtest

import (
	"strings"
	"testing"

	"github.com/reins-agent/reins/llm/chat"
)

const (
	chatOneTool  = `{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}`
	chatAsk      = `{"role":"user","content":"hi"}`
	chatTwoCalls = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	chatAnswer   = `{"role":"tool","tool_call_id":"a","content":"1"},{"role":"tool","tool_call_id":"b","content":"2"}`
)

func TestChat_RefusesLikeTheAPI(t *testing.T) {
	talk := func(messages ...string) string {
		return `{"model":"m","tools":[` + chatOneTool + `],"messages":[` + strings.Join(messages, ",") + `]}`
	}
	with := func(members string) string { return `{"model":"m",` + members + `,"messages":[` + chatAsk + `]}` }
	for name, c := range map[string]struct{ body, want string }{
		"fine":                     {talk(chatAsk, chatTwoCalls, chatAnswer, chatAsk), ""},
		"fine with media":          {talk(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,aa"}}]}`), ""},
		"not JSON":                 {`{"model"`, "could not parse"},
		"not an object":            {`[]`, "not a JSON object"},
		"no model":                 {`{"messages":[]}`, "model"},
		"no messages":              {`{"model":"m"}`, "messages"},
		"empty messages":           {`{"model":"m","messages":[]}`, "empty array"},
		"unknown parameter":        {with(`"frobnicate":1`), "frobnicate"},
		"wrong type":               {with(`"stream":"yes"`), "'stream'"},
		"out of range":             {with(`"temperature":3`), "temperature"},
		"two limits":               {with(`"max_tokens":1,"max_completion_tokens":1`), "at the same time"},
		"stream options alone":     {with(`"stream_options":{}`), "stream_options"},
		"too many stops":           {with(`"stop":["1","2","3","4","5"]`), "stop"},
		"unknown effort":           {with(`"reasoning_effort":"heroic"`), "reasoning_effort"},
		"no tools in tools":        {with(`"tools":[]`), "too short"},
		"unknown tool type":        {with(`"tools":[{"type":"magic"}]`), "type"},
		"bad tool name":            {with(`"tools":[{"type":"function","function":{"name":"a b"}}]`), "name"},
		"tool twice":               {with(`"tools":[` + chatOneTool + `,` + chatOneTool + `]`), "duplicate tool"},
		"bad schema":               {with(`"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"x":{"type":"strange"}}}}}]`), "schema"},
		"unknown tool member":      {with(`"tools":[{"type":"function","function":{"name":"f","color":"red"}}]`), "color"},
		"choice without tools":     {with(`"tool_choice":"auto"`), "tool_choice"},
		"choice of another tool":   {with(`"tools":[` + chatOneTool + `],"tool_choice":{"type":"function","function":{"name":"g"}}`), "tool_choice"},
		"parallel without tools":   {with(`"parallel_tool_calls":true`), "parallel_tool_calls"},
		"unknown format":           {with(`"response_format":{"type":"poem"}`), "response_format"},
		"format without name":      {with(`"response_format":{"type":"json_schema","json_schema":{"schema":{}}}`), "name"},
		"unknown role":             {talk(`{"role":"narrator","content":"x"}`), "role"},
		"unknown message member":   {talk(`{"role":"user","content":"x","mood":"good"}`), "mood"},
		"no content":               {talk(`{"role":"user"}`), "content"},
		"empty content":            {talk(`{"role":"user","content":[]}`), "empty array"},
		"image in a tool message":  {talk(chatAsk, chatTwoCalls, `{"role":"tool","tool_call_id":"a","content":[{"type":"image_url","image_url":{"url":"https://x"}}]}`), "image_url"},
		"image without URL":        {talk(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}`), "valid URL"},
		"file without data":        {talk(`{"role":"user","content":[{"type":"file","file":{"filename":"x"}}]}`), "file_data"},
		"call not answered":        {talk(chatAsk, chatTwoCalls, `{"role":"tool","tool_call_id":"a","content":"1"}`, chatAsk), "did not have response messages: b"},
		"call not answered at end": {talk(chatAsk, chatTwoCalls), "a, b"},
		"call answered twice":      {talk(chatAsk, chatTwoCalls, chatAnswer, `{"role":"tool","tool_call_id":"a","content":"1"}`), "answered before"},
		"answer to nothing":        {talk(chatAsk, `{"role":"tool","tool_call_id":"z","content":"1"}`), "unknown call \"z\""},
		"answer out of place":      {talk(chatAsk, chatTwoCalls, chatAnswer, chatAsk, `{"role":"tool","tool_call_id":"a","content":"1"}`), "unknown call \"a\""},
		"empty calls":              {talk(chatAsk, `{"role":"assistant","content":"x","tool_calls":[]}`), "empty array"},
		"call without id":          {talk(chatAsk, `{"role":"assistant","tool_calls":[{"type":"function","function":{"name":"f","arguments":"{}"}}]}`), ".id"},
		"id for two calls":         {talk(chatAsk, strings.ReplaceAll(chatTwoCalls, `"b"`, `"a"`)), "duplicate call"},
		"arguments not a string":   {talk(chatAsk, `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":{}}}]}`), "arguments"},
	} {
		err := Validate(chat.Name, []byte(c.body))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: got error %v, want none", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got error %v, want one with %q", name, err, c.want)
		}
	}
}
