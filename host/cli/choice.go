package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/reins-agent/reins/host/show"
	"github.com/reins-agent/reins/policy"
	"github.com/reins-agent/reins/tool"
)

// choices ends every question about a call. readChoice reads the answer.
const choices = "Allow? [y]es, [s]ession (the same again too), [a]llow everything this run, [n]o, or type instructions: "

// choice is the answer to a question about a call.
type choice struct {
	allow   bool
	scope   tool.Scope
	all     bool   // and everything from now on
	message string // for the model, if the call is refused
}

// readChoice reads an answer. What is none of the choices refuses the call and is for the model.
func readChoice(answer string) choice {
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return choice{allow: true}
	case "s", "session":
		return choice{allow: true, scope: tool.ForSession}
	case "a", "all":
		return choice{allow: true, all: true}
	case "", "n", "no":
		return choice{message: "the user refused it"}
	}
	return choice{message: "the user refused it and said: " + answer}
}

// callHead begins a question: which agent asks, if it is not the main one, and for what. A command is
// left to the lines below it.
func callHead(agent, name string, args json.RawMessage, accesses []policy.Access) string {
	title := show.Title(name, args)
	for _, a := range accesses {
		if a.Kind == policy.Exec {
			title = show.Summary(name)
		}
	}
	if agent != "" {
		title = "agent " + show.OneLine(agent) + " asks: " + title
	}
	return "\n" + title + "\n"
}

// accessText returns what a call is about to touch, all of it: it is what the user decides on.
func accessText(a policy.Access) string {
	text := show.Visible(a.String())
	if a.Kind == policy.Exec {
		text = "runs: " + show.Visible(a.Target)
	}
	text = fmt.Sprintf("  %s\n", strings.ReplaceAll(text, "\n", "\n    "))
	if a.Dir != "" {
		text += fmt.Sprintf("    in %s\n", show.OneLine(a.Dir))
	}
	return text
}
