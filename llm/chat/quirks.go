package chat

import (
	"net/url"
	"strings"
)

// quirks describe how requests to a server differ from OpenAI's API. The zero value means no difference.
type quirks struct {
	// MaxTokens is the member that limits the answer; default "max_completion_tokens".
	MaxTokens string
	// NoDeveloper sends developer messages as system messages.
	NoDeveloper bool
	// NoStreamUsage omits stream_options, which requests token counts in a stream.
	NoStreamUsage bool
	// Effort is the way to set the reasoning effort.
	Effort effortForm
	// Reasoning is the assistant message member for reasoning text; default: the member in which the text arrived.
	Reasoning string
	// NoReplay never sends reasoning back.
	NoReplay bool
	// ReasoningDue sends reasoning_content with all tool calls, because the server refuses them without it: the
	// reasoning that any of the provider's models wrote, otherwise an empty text. Models whose rules have NeedsThinking
	// get it too.
	ReasoningDue bool
	// NoRequired sends the tool choice "required" as "auto".
	NoRequired bool
	// NoParallel omits parallel_tool_calls.
	NoParallel bool
	// NoStrict omits the strict flag of tools.
	NoStrict bool
	// NoSchema requests a JSON object instead of JSON with a schema.
	NoSchema bool
	// NoCacheKey omits prompt_cache_key.
	NoCacheKey bool
	// NoTopK omits top_k.
	NoTopK bool
	// ToolNames adds the tool's name to tool messages.
	ToolNames bool
	// ToolIDs is the required length of tool call ids, and MaxToolID the maximum; 0 means any. Other ids are
	// replaced, in calls and results.
	ToolIDs, MaxToolID int
	// Bridge inserts an assistant message between a tool message and a user message.
	Bridge bool
	// Merge joins consecutive user messages. The templates of many local models require alternating roles.
	Merge bool
	// ToolMedia sends images in tool messages.
	ToolMedia bool
	// Documents is the type of content part for a document with a URL, "file" or "document_url"; default: a text with
	// the URL.
	Documents string
	// KeyHeader is the header for the API key; default: a bearer token in Authorization.
	KeyHeader string
	// Split requests thinking in its own member instead of the text.
	Split bool
	// CacheControl requests a prompt cache with cache_control: at the top level, which means after the last message,
	// and after the first system message.
	CacheControl bool
	// Tiers means that the server has service tiers.
	Tiers bool
	// OpenAI means that the server is OpenAI's own, where some models accept tools only over the Responses API.
	OpenAI bool
	// NoTextTools does not look for tool calls in the text, because the server parses them all.
	NoTextTools bool
}

// effortForm is a way to set the reasoning effort.
type effortForm string

// The ways to set the effort. effortType, effortEnable and other switches turn thinking off for "none". For models with
// efforts in the catalogue, all but effortTemplate and effortNone send the nearest: as reasoning_effort instead of the
// switch, unless noted otherwise.
const (
	effortWord     effortForm = ""                     // reasoning_effort: "high"
	effortObject   effortForm = "reasoning"            // reasoning: {"effort": "high"} or {"max_tokens": 2000}
	effortType     effortForm = "thinking"             // thinking: {"type": "enabled"}
	effortAdaptive effortForm = "adaptive"             // thinking: {"type": "adaptive"}
	effortTypeWord effortForm = "thinking+effort"      // both thinking and reasoning_effort
	effortEnable   effortForm = "enable_thinking"      // enable_thinking: true, thinking_budget: 2000
	effortTemplate effortForm = "chat_template_kwargs" // chat_template_kwargs: {"enable_thinking": true}
	effortNone     effortForm = "none"                 // cannot be set
)

var (
	openai = quirks{MaxToolID: 40, NoTopK: true, NoTextTools: true, Tiers: true, OpenAI: true}
	azure  = quirks{MaxToolID: 40, NoTopK: true, NoTextTools: true, NoCacheKey: true, KeyHeader: "api-key", OpenAI: true}
	// compatible is an unknown server.
	compatible = quirks{MaxTokens: "max_tokens", NoDeveloper: true, NoCacheKey: true, Merge: true}
)

// vendors is the table of quirks. The first matching row applies. A host matches itself and its subdomains, ":port" any
// host with that port. A model matches if its name contains the word. Rows without hosts or models match all.
var vendors = []struct {
	hosts, models []string
	quirks        quirks
}{
	{[]string{"api.openai.com"}, []string{"gpt-3.5", "o1-mini", "o1-preview"}, quirks{MaxToolID: 40, NoTopK: true,
		NoTextTools: true, NoDeveloper: true, Tiers: true}},
	{[]string{"api.openai.com"}, nil, openai},
	{[]string{"openai.azure.com", "cognitiveservices.azure.com", "services.ai.azure.com"}, nil, azure},
	{[]string{"openrouter.ai"}, []string{"anthropic/"}, quirks{MaxTokens: "max_tokens", NoDeveloper: true, Effort: effortObject,
		Documents: "file", CacheControl: true}},
	{[]string{"openrouter.ai"}, nil, quirks{MaxTokens: "max_tokens", NoDeveloper: true, Effort: effortObject, Documents: "file"}},
	{[]string{"ai-gateway.vercel.sh"}, nil, quirks{MaxTokens: "max_tokens", NoDeveloper: true, Effort: effortObject, NoCacheKey: true}},
	{[]string{"snowflakecomputing.com"}, nil, quirks{NoDeveloper: true, Effort: effortObject, NoCacheKey: true, NoParallel: true}},
	{[]string{"api.mistral.ai"}, nil, quirks{MaxTokens: "max_tokens", NoDeveloper: true, NoStreamUsage: true, NoCacheKey: true,
		NoTopK: true, ToolNames: true, ToolIDs: 9, Bridge: true, ToolMedia: true, Documents: "document_url"}},
	{[]string{"api.groq.com"}, nil, quirks{NoDeveloper: true, Reasoning: "reasoning", NoCacheKey: true, NoTopK: true, Tiers: true}},
	{[]string{"api.cerebras.ai"}, nil, quirks{NoDeveloper: true, Reasoning: "reasoning", NoCacheKey: true, NoTopK: true}},
	{[]string{"api.deepseek.com"}, nil, quirks{MaxTokens: "max_tokens", NoDeveloper: true, Effort: effortTypeWord,
		Reasoning: "reasoning_content", ReasoningDue: true, NoSchema: true, NoParallel: true, NoCacheKey: true, NoTopK: true}},
	{[]string{"api.z.ai", "open.bigmodel.cn"}, nil, quirks{MaxTokens: "max_tokens", NoDeveloper: true, Effort: effortTypeWord,
		Reasoning: "reasoning_content", NoRequired: true, NoSchema: true, NoParallel: true, NoCacheKey: true, NoTopK: true}},
	{[]string{"api.moonshot.ai", "api.moonshot.cn", "api.kimi.com"}, nil, quirks{MaxTokens: "max_tokens", NoDeveloper: true,
		Effort: effortType, Reasoning: "reasoning_content", ReasoningDue: true, NoRequired: true, NoCacheKey: true, NoTopK: true}},
	{[]string{"dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com", "maas.aliyuncs.com"}, nil,
		quirks{MaxTokens: "max_tokens", NoDeveloper: true, Effort: effortEnable, Reasoning: "reasoning_content", NoRequired: true,
			NoCacheKey: true}},
	{[]string{"xiaomimimo.com"}, nil, quirks{NoDeveloper: true, Effort: effortType, Reasoning: "reasoning_content",
		ReasoningDue: true, NoCacheKey: true, NoTopK: true}},
	{[]string{"api.x.ai"}, nil, quirks{NoDeveloper: true, NoCacheKey: true, NoTopK: true}},
	{[]string{"api.perplexity.ai"}, nil, quirks{MaxTokens: "max_tokens", NoDeveloper: true, NoReplay: true, NoStreamUsage: true,
		NoParallel: true, NoCacheKey: true}},
	{[]string{"generativelanguage.googleapis.com", "aiplatform.googleapis.com"}, nil, quirks{NoDeveloper: true, NoParallel: true,
		NoStrict: true, NoCacheKey: true, NoTopK: true}},
	{[]string{"api.together.xyz", "api.together.ai"}, nil, quirks{MaxTokens: "max_tokens", NoDeveloper: true, NoCacheKey: true}},
	{[]string{"api.fireworks.ai"}, nil, quirks{MaxTokens: "max_tokens", NoDeveloper: true}},
	{[]string{"huggingface.co"}, nil, quirks{MaxTokens: "max_tokens", NoDeveloper: true, NoCacheKey: true, NoTopK: true}},
	{[]string{"api.minimax.io", "api.minimaxi.com"}, nil, quirks{NoDeveloper: true, Effort: effortAdaptive, ReasoningDue: true,
		Split: true, NoCacheKey: true, NoTopK: true}},
	{[]string{"ml.cloud.ibm.com"}, nil, quirks{MaxTokens: "max_tokens", NoDeveloper: true, NoParallel: true, NoCacheKey: true}},
	{[]string{"api.cloudflare.com", "gateway.ai.cloudflare.com"}, nil, quirks{MaxTokens: "max_tokens", NoDeveloper: true,
		NoCacheKey: true}},
	{[]string{"ollama.com", ":11434"}, nil, quirks{MaxTokens: "max_tokens", NoDeveloper: true, Reasoning: "reasoning",
		NoParallel: true, NoCacheKey: true, Merge: true}},
	{[]string{":1234"}, nil, quirks{MaxTokens: "max_tokens", NoDeveloper: true, NoParallel: true, NoCacheKey: true, Merge: true}},
	{nil, []string{"deepseek-v4", "deepseek-v3.2", "kimi-k2"}, quirks{MaxTokens: "max_tokens", NoDeveloper: true, NoCacheKey: true,
		ReasoningDue: true, Merge: true}},
	{nil, []string{"qwen3", "qwen-3"}, quirks{MaxTokens: "max_tokens", NoDeveloper: true, NoCacheKey: true, Effort: effortTemplate,
		Merge: true}},
}

// quirksFor returns the quirks for a server and a model. Unknown servers are treated as compatible with OpenAI's older
// API.
func quirksFor(baseURL, model string) quirks {
	host, port := hostPort(baseURL)
	model = strings.ToLower(model)
	for i := range vendors {
		v := &vendors[i]
		if matchHost(v.hosts, host, port) && matchModel(v.models, model) {
			return v.quirks
		}
	}
	return compatible
}

func hostPort(baseURL string) (host, port string) {
	u, err := url.Parse(baseURL)
	if err != nil {
		return "", ""
	}
	return strings.ToLower(u.Hostname()), u.Port()
}

func matchHost(hosts []string, host, port string) bool {
	for _, h := range hosts {
		if h == host || strings.HasSuffix(host, "."+h) || port != "" && h == ":"+port {
			return true
		}
	}
	return len(hosts) == 0
}

func matchModel(words []string, model string) bool {
	for _, w := range words {
		if strings.Contains(model, w) {
			return true
		}
	}
	return len(words) == 0
}
