package llm

import (
	"embed"
	"sync"
)

//go:embed models/*.json
var builtin embed.FS

// vendors lists the providers in the built-in catalogue. A name alone means the first model that has it.
var vendors = []string{
	"openai", "anthropic", "gemini", "bedrock", "deepseek", "xai", "mistral", "qwen", "zai", "moonshot", "minimax", "meta", "groq",
	"openrouter",
}

// DefaultCatalogue returns the built-in catalogue.
func DefaultCatalogue() *Catalogue { return defaultCatalogue() }

var defaultCatalogue = sync.OnceValue(readBuiltin)

// readBuiltin returns a catalogue of the embedded files. It reads none of them.
func readBuiltin() *Catalogue {
	c := new(Catalogue)
	for _, vendor := range vendors {
		c.groups = append(c.groups, &group{provider: vendor, text: sync.OnceValue(func() []byte { return builtinText(vendor) })})
	}
	return c
}

func builtinText(vendor string) []byte {
	text, err := builtin.ReadFile("models/" + vendor + ".json")
	if err != nil {
		panic(err)
	}
	return text
}
