// Package llm is one vocabulary for talking to language models, whoever serves them.
//
// A [Request] holds messages made of [Part] values; a model's answer is a sequence of
// [StreamEvent] values that ends in exactly one [Finish] or one error. A [Provider] turns the one
// into the other. Switching models means changing Request.Model; switching vendors means changing
// Request.Provider as well. Nothing else in a caller changes.
//
// A [Client] routes requests to named providers through middleware, such as [RetryPolicy]. The adapters
// live below this package (openai, anthropic, gemini, chat), share their machinery in wire, and
// are put together from the environment by connect.
//
// # Provider state
//
// Some of what a provider returns must come back to it unchanged in the next request: signatures
// of thinking, encrypted reasoning, thought signatures of tool calls. It travels as [State], raw
// bytes tagged with the dialect and model that made them. Only the adapter of that dialect looks
// inside; for any other model it downgrades the part or drops it.
//
// # Append-only requests
//
// Prompt caches pay for prefixes. Adapters therefore encode a request so that, for an unchanged
// head (model, tools, system) and a history that only grows, the bytes of one request are a prefix
// of the next one's. With a [Cache] in the request, what was encoded once is not encoded again.
package llm
