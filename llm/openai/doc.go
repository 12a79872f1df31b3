// Package openai speaks the OpenAI Responses API.
//
// # What goes where
//
// System messages become the instructions, joined by a blank line; developer messages stay in
// place. An assistant message becomes the items it came from: reasoning, messages, tool calls and
// whatever else the model returned, in their order. Requests are stateless by default: store is
// false, and reasoning is asked for in encrypted form so that it can be sent back. Anything else
// the API takes (previous_response_id, conversation, service_tier, …) goes through
// Request.Options; in the reasoning and text objects, options are merged member by member.
// The API has no stop sequences, no top_k and no thinking budget: those fields of a request are
// not sent.
//
// # Provider state
//
// A reasoning item is kept whole as the State of its Thinking part and sent back byte for byte to
// the model that made it, in its place. It is left out for other models, when nothing of its
// message follows it (the API refuses that), and when it holds neither encrypted nor readable
// reasoning while nothing is stored. Message and call items keep the members that have no place of
// their own, such as id, status and phase, as State of the Text or ToolCall. Items that are not
// modelled are Opaque and go back as they came. A refusal is text, kept as a refusal in its State;
// the answer then ends with FinishContentFilter.
//
// # Tool calls and results
//
// Arguments travel as the text the model wrote. Where they are empty they are sent back as {}, and
// where they are no JSON object as {"_raw": "…"}, so that a server that parses them accepts the
// history. The API has no mark for failed tools: a result with IsError starts with "Error: ".
package openai
