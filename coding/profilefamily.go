package coding

import (
	"path"
	"regexp"
	"strings"
)

// Family says whose agent a model was trained to be.
type Family string

// The families. The models of the generic one come from vendors without an agent of their own that
// would set them apart; they edit by replacing strings, the form that most of them were trained on.
const (
	OpenAIFamily    Family = "openai"    // patches with apply_patch
	AnthropicFamily Family = "anthropic" // replaces strings with edit_file
	GeminiFamily    Family = "gemini"    // replaces strings with edit_file, reads in batches
	GenericFamily   Family = "generic"   // replaces strings with edit_file
)

// families finds a family in the name of a model; the first that matches counts. Gateways put the
// vendor before the name ("openai/gpt-oss-120b", "anthropic.claude-…"), and fine-tuned models keep
// the name of their base somewhere in theirs.
//
//   - GPT models, with them gpt-oss, know apply_patch; so do the numbered o models.
//   - Gemma is trained as Gemini is.
//   - Qwen, DeepSeek, GLM, Kimi, MiniMax, Mistral (Devstral, Codestral, …), Llama, Muse, Grok, Phi,
//     Nova, Command, Granite, Nemotron and Seed know the replacement of strings from the agents they
//     are made for. They stand here, although the generic family is also what is left over, because
//     a local server may call itself "openai" and serve one of them.
var families = []struct {
	name   *regexp.Regexp
	family Family
}{
	{regexp.MustCompile(`claude`), AnthropicFamily},
	{regexp.MustCompile(`gemini|gemma`), GeminiFamily},
	{regexp.MustCompile(`qwen|qwq|deepseek|glm|kimi|minimax|[sx]tral|llama|muse|grok|\bphi|nova|command|granite|nemotron|seed`), GenericFamily},
	{regexp.MustCompile(`gpt|codex|^o\d`), OpenAIFamily},
}

// FamilyOf finds the family of a model: by its name, then by who serves it. An unknown model of an
// unknown provider is of the generic family.
func FamilyOf(provider, model string) Family {
	name := strings.ToLower(path.Base(model))
	for _, f := range families {
		if f.name.MatchString(name) {
			return f.family
		}
	}
	switch f := Family(provider); f {
	case OpenAIFamily, AnthropicFamily, GeminiFamily:
		return f
	}
	return GenericFamily
}
