package mcp

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFile_KeepsWhatOthersWrote(t *testing.T) {
	f, err := ParseFile([]byte("\uFEFF" + `{"theme":"dark","mcpServers":{"a":{"command":"x","other":[1,2]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Set("b", FileServer{URL: "https://b.example/mcp"}); err != nil {
		t.Fatal(err)
	}
	data, err := f.Format()
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"theme": "dark"`, `"other"`, `"url": "https://b.example/mcp"`} {
		if !strings.Contains(string(data), part) {
			t.Errorf("%s is missing in\n%s", part, data)
		}
	}
	if again, err := ParseFile(data); err != nil || strings.Join(again.Names(), " ") != "a b" || !again.Remove("a") || again.Remove("a") {
		t.Errorf("read again: %v, %v", again, err)
	}
}

func TestFile_ServersOfOtherPrograms(t *testing.T) {
	expand := func(text string) (string, error) {
		return strings.NewReplacer("${TOKEN}", "t", "${DIR}", "/d").Replace(text), nil
	}
	for text, want := range map[string]Server{
		`{"command":"npx","args":["-y","${DIR}/x","$HOME"],"env":{"A":"b${TOKEN}"},"cwd":"${DIR}"}`: {Command: "npx", Args: []string{"-y", "/d/x", "$HOME"}, Env: map[string]string{"A": "bt"}, Dir: "/d"},
		`{"type":"http","url":"https://x/mcp","headers":{"Authorization":"Bearer ${TOKEN}"}}`:       {URL: "https://x/mcp", Headers: map[string]string{"Authorization": "Bearer t"}},
		`{"type":"sse","url":"https://x"}`:                                        {URL: "https://x", Type: "sse"},
		`{"httpUrl":"https://x","timeout":1500,"trust":true}`:                     {URL: "https://x", Timeout: 1500e6},
		`{"command":"c","disabled":true,"unconfined":true,"alwaysAllow":["all"]}`: {Command: "c", Disabled: true, Unconfined: true},
	} {
		f, err := ParseFile([]byte(`{"mcpServers":{"s":` + text + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		s, err := f.Get("s")
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Server(expand)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		for _, m := range []*map[string]string{&got.Env, &got.Headers} {
			if len(*m) == 0 {
				*m = nil
			}
		}
		if len(got.Args) == 0 {
			got.Args = nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestFile_Mistakes(t *testing.T) {
	unset := func(text string) (string, error) {
		if strings.Contains(text, "$") {
			return "", errors.New("cannot expand " + text)
		}
		return text, nil
	}
	for text, want := range map[string]string{
		`[]`: "not a JSON object", `{"mcpServers":[]}`: "mcpServers is not an object of servers", `{`: "not a JSON object",
		`{"mcpServers":{"s":{"command":1}}}`:                    `server "s": command cannot be of type number`,
		`{"mcpServers":{"s":"x"}}`:                              `server "s": it cannot be of type string`,
		`{"mcpServers":{"s":{"command":"x","env":{"A":"$B"}}}}`: "cannot expand $B",
		`{"mcpServers":{"s":{"type":"pigeon","url":"x"}}}`:      `unknown type "pigeon"`,
		`{"mcpServers":{"s":{"type":"stdio","url":"x"}}}`:       "a server of type stdio needs a command, not a url",
		`{"mcpServers":{"s":{"type":"sse","command":"x"}}}`:     "a server of type sse needs a url",
		`{"mcpServers":{"s":{"command":"x","timeout":-1}}}`:     "timeout is negative",
	} {
		f, err := ParseFile([]byte(text))
		if err == nil {
			var s FileServer
			if s, err = f.Get("s"); err == nil {
				_, err = s.Server(unset)
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
