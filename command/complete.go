package command

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/reins-agent/reins/mcp"
	"github.com/reins-agent/reins/session"
	"github.com/reins-agent/reins/skill"
)

// Complete returns the words that the last word of a line can become: "/name", or an argument.
func (r *Registry) Complete(ctx context.Context, h session.Handle, text string) ([]string, error) {
	words := strings.Split(text, " ")
	last := words[len(words)-1]
	if len(words) == 1 {
		return r.names(ctx, h, last)
	}
	name, _, ok := Parse(words[0])
	c, found := r.find(name)
	if !ok || !found || c.Complete == nil {
		return []string{}, nil
	}
	args := slices.DeleteFunc(words[1:len(words)-1], func(w string) bool { return w == "" })
	list, err := c.Complete(ctx, Target{h, r.host}, args)
	return beginning(list, last), err
}

// names returns the names of the available commands that begin with a text such as "/mo".
func (r *Registry) names(ctx context.Context, h session.Handle, text string) ([]string, error) {
	if !strings.HasPrefix(text, "/") {
		return []string{}, nil
	}
	list, err := h.Commands(ctx)
	var names []string
	for _, c := range list {
		if c.Unavailable == "" {
			names = append(names, "/"+c.Name)
		}
	}
	return beginning(names, text), err
}

// beginning returns the words that begin with a text, in upper or lower case.
func beginning(words []string, text string) []string {
	list := []string{}
	for _, w := range words {
		if len(w) >= len(text) && strings.EqualFold(w[:len(text)], text) {
			list = append(list, w)
		}
	}
	return list
}

// fixed completes the first argument with one of some words.
func fixed(words ...string) func(context.Context, Target, []string) ([]string, error) {
	return func(_ context.Context, _ Target, args []string) ([]string, error) {
		if len(args) > 0 {
			return nil, nil
		}
		return words, nil
	}
}

// Skills returns the skills and command files that a user can invoke as commands.
func Skills(r *skill.Registry) []session.Command {
	list := []session.Command{}
	for _, s := range r.All() {
		c := session.Command{
			Name:      s.Name,
			Aliases:   s.Aliases,
			Summary:   oneLine(s.Description),
			Arguments: s.ArgumentHint,
			Source:    session.SourceSkill,
		}
		if s.Kind == skill.KindClaude || s.Kind == skill.KindCodex || s.Kind == skill.KindGemini {
			c.Source = session.SourceFile
		}
		if !s.UserInvocable {
			c.Unavailable = "only the model can use it: it sets user-invocable to false"
		}
		list = append(list, c)
	}
	return list
}

// Prompts returns the prompts of MCP servers as commands.
func Prompts(prompts []mcp.Prompt) []session.Command {
	list := []session.Command{}
	for _, p := range prompts {
		var args []string
		for _, a := range p.Arguments {
			word := strings.ToUpper(a.Name)
			if !a.Required {
				word = "[" + word + "]"
			}
			args = append(args, word)
		}
		list = append(list, session.Command{
			Name:      mcp.ToolName(p.Server, p.Name),
			Summary:   oneLine(cmp.Or(p.Title, p.Description)),
			Arguments: strings.Join(args, " "),
			Source:    session.SourceMCP,
		})
	}
	return list
}

// isMCP reports whether a name is that of a prompt of an MCP server.
func isMCP(name string) bool { return strings.HasPrefix(name, "mcp__") }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
