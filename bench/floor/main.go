// Command floor is a minimal coding agent, the baseline for package bench: it sends the conversation to a model over
// HTTP, reads the streamed answer, runs the requested command with bash, and repeats until an answer requests none.
//
// It implements just enough of OpenAI's Responses protocol for the benchmark's model.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
)

type item struct {
	Type      string `json:"type,omitempty"`
	Role      string `json:"role,omitempty"`
	Content   any    `json:"content,omitempty"`
	CallID    string `json:"call_id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	Output    string `json:"output,omitempty"`
}

type request struct {
	Model  string `json:"model"`
	Stream bool   `json:"stream"`
	Tools  []tool `json:"tools"`
	Input  []item `json:"input"`
}

type tool struct {
	Type       string          `json:"type"`
	Name       string          `json:"name"`
	Parameters json.RawMessage `json:"parameters"`
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: floor BASE_URL PROMPT")
		os.Exit(2)
	}
	r := request{Model: "floor", Stream: true, Input: []item{{Role: "user", Content: os.Args[2]}}}
	r.Tools = []tool{{"function", "shell", json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}}}`)}}
	for {
		call, err := ask(os.Args[1]+"/responses", r)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if call == nil {
			return
		}
		var args struct{ Command string }
		_ = json.Unmarshal([]byte(call.Arguments), &args)
		out, _ := exec.Command("bash", "-c", args.Command).CombinedOutput()
		r.Input = append(r.Input,
			item{Type: "function_call", CallID: call.CallID, Name: call.Name, Arguments: call.Arguments},
			item{Type: "function_call_output", CallID: call.CallID, Output: string(out)})
	}
}

// ask calls the model and returns the tool call in its answer, or nil.
func ask(url string, r request) (call *item, err error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	resp, err := http.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var ev struct {
			Type string
			Item item
		}
		if err := json.Unmarshal([]byte(data), &ev); err != nil {
			return nil, err
		}
		if ev.Type == "response.output_item.done" && ev.Item.Type == "function_call" {
			call = &ev.Item
		}
	}
	return call, nil
}
