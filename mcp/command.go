package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/llm"
)

// Command expands user input that begins with a prompt name, such as "/mcp__server__prompt ARG...". The words after the
// name are its arguments, in order; the last argument gets the rest of the input. It reports false for other input.
func (c *Client) Command(ctx context.Context, input string) (parts []llm.Part, ok bool, err error) {
	name, rest, _ := strings.Cut(strings.TrimRight(input, " \t\r\n"), " ")
	if !strings.HasPrefix(name, "/mcp__") {
		return nil, false, nil
	}
	prompts, err := c.Prompts(ctx, "")
	for _, p := range prompts {
		if "/"+ToolName(p.Server, p.Name) != name {
			continue
		}
		args, err := p.arguments(rest)
		if err != nil {
			return nil, true, err
		}
		messages, err := c.GetPrompt(ctx, p.Server, p.Name, args)
		return flatten(messages), true, err
	}
	if err != nil {
		return nil, true, fmt.Errorf("unknown command %s: %w", name, err)
	}
	return nil, true, fmt.Errorf("unknown command %s: no connected MCP server has this prompt", name)
}

// arguments assigns words to a prompt's arguments.
func (p Prompt) arguments(text string) (map[string]string, error) {
	args := map[string]string{}
	for i, a := range p.Arguments {
		text = strings.TrimSpace(text)
		word, rest, _ := strings.Cut(text, " ")
		if i == len(p.Arguments)-1 {
			word, rest = text, ""
		}
		if word == "" && a.Required {
			return nil, fmt.Errorf("prompt %s of MCP server %s needs the argument %s", p.Name, p.Server, a.Name)
		}
		if word != "" {
			args[a.Name] = word
		}
		text = rest
	}
	if strings.TrimSpace(text) != "" {
		return nil, fmt.Errorf("prompt %s of MCP server %s takes no arguments", p.Name, p.Server)
	}
	return args, nil
}

// flatten returns a prompt's parts as one input. It marks the assistant's messages.
func flatten(messages []llm.Message) (parts []llm.Part) {
	for _, m := range messages {
		for _, p := range m.Parts {
			if t, ok := p.(llm.Text); ok && m.Role == llm.RoleAssistant {
				p = llm.Text{Text: "Assistant: " + t.Text}
			}
			parts = append(parts, p)
		}
	}
	return parts
}
