package connect

import (
	_ "embed"
	"strings"
	"sync"
)

// The protocols of presets.
const (
	chatAPI   = "chat"
	responses = "responses"
	messages  = "messages"
	geminiAPI = "gemini"
)

//go:embed presets.txt
var presetsText string

// presets returns the providers in presets.txt, which describes its format.
var presets = sync.OnceValue(func() []preset { return readPresets(presetsText) })

func readPresets(text string) (list []preset) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case line[0] != ' ':
			list = append(list, preset{name: words[0], speaks: words[1], base: words[2], keys: words[3:]})
		default:
			list[len(list)-1].set(words[0], words[1:])
		}
	}
	return list
}

// set applies a setting of a preset.
func (p *preset) set(name string, words []string) {
	switch value := strings.Join(words, " "); name {
	case "alias":
		p.aliases = words
	case "model":
		p.model = value
	case "like":
		p.like = value
	case "trim":
		p.trim = value
	case "session":
		p.session = value
	case "header":
		p.header = value
	case "auth":
		p.auth = value
	case "key":
		p.keys = append(p.keys, words...)
	case "optional":
		p.optional = true
	case "route":
		p.routes = append(p.routes, route{words[0], words[1], words[2], strings.Join(words[3:], "")})
	default:
		panic("connect: presets.txt has the unknown setting " + name)
	}
}

// renamed has other names for providers that are not presets.
var renamed = [][2]string{
	{"amazon-bedrock", "bedrock"},
	{"azure-openai-responses", "azure"},
	{"google", "gemini"},
	{"google-vertex", "vertex"},
	{"google-vertex-anthropic", "vertex"},
}

// refused has what to say about providers that need a sign-in or a protocol that this package does not have.
var refused = [][2]string{
	{"github-copilot", "it needs a sign-in with a GitHub application that is approved for Copilot, and Reins has none; " +
		"use github-models with GITHUB_TOKEN, or the API key of a model vendor"},
	{"claude-code", planTokens},
	{"claude-max", planTokens},
	{"claude-plan", planTokens},
	{"claude-pro", planTokens},
	{"gitlab", "it needs a sign-in to GitLab Duo, which Reins does not have; use the API key of a model vendor"},
	{"radius", "it has its own protocol, which Reins does not have; use the API key of a model vendor"},
	{"sap-ai-core", "it needs tokens that SAP issues for a service key; add it to your configuration as [providers.NAME] with a key_command"},
}

const planTokens = "Anthropic's terms allow the sign-in of Claude plans only in its own applications; " +
	"create an API key at platform.claude.com and set ANTHROPIC_API_KEY"
