// Package anthropic speaks Anthropic's Messages API.
//
// # Requests
//
// System and developer messages become the system blocks, wherever they stand in the conversation.
// Neighbours of one role are merged, since the API wants user and assistant to alternate, and tool
// results stand first in their user message. Thinking goes back with its signature to the model
// that made it and is left out for any other. Empty texts are left out; media that the API does
// not take are named in a short text instead. Arguments of a tool call that are no JSON object are
// sent as {"_raw": "…"}, those of a freeform tool as {"input": "…"}.
//
// The body has its messages last, so that the bytes of a request are a prefix of the next one's.
// Cache breakpoints are the exception: one stands behind the tools and the system blocks, one at
// the end of the messages, and one where the end was in the request before. They are placed
// unless Request.NoCache is set or the caller sets cache_control somewhere itself.
//
// max_tokens is Request.MaxTokens, or the model's limit in the catalogue, or [DefaultMaxTokens].
//
// Effort becomes adaptive thinking with output_config.effort on models that the catalogue lists as
// "adaptive". On others it becomes a budget of tokens for thinking, always less than max_tokens:
//
//	minimal 1024 · low 4096 · medium 10240 · high 24576 · xhigh 32768 · max 65536
//
// Thinking is not asked for where the API refuses it: when a tool is forced, and, for budgets, in
// the middle of a tool round that began without it. While it is on, the sampling parameters that
// the API refuses with it are left out: a temperature other than 1, top_k, and top_p below 0.95.
// With both temperature and top_p, only the temperature is sent.
//
// Output to a schema uses output_config.format where the catalogue says that the model has it.
// Elsewhere, and for JSON without a schema, the model is made to call a tool with a reserved name,
// and the decoder turns that call back into text.
//
// # Answers
//
// Members of a block that a part has no field for travel in its State as a JSON object: a thinking
// block's signature, a text's citations, a tool call's caller. Blocks of server tools and unknown
// ones are kept whole as llm.Opaque. The container of an answer is kept as an opaque part too, and
// named in the request that continues that answer.
//
// A stream is complete with its message_stop event and not before.
package anthropic
