// Package chat speaks OpenAI's Chat Completions protocol, and with it to everything that calls
// itself OpenAI-compatible: hosted vendors, gateways and servers on the local machine.
//
// The protocol is spoken with an accent almost everywhere. What differs in requests is data, not
// code: a [Quirks] value, which [QuirksFor] finds by the host of the base URL and the model, and
// which [Config] can replace. What differs in answers needs no table: the decoder takes every
// known form from every server.
//
// # What has no counterpart in the protocol
//
//   - Several text parts of one message are sent as one string, separated by a blank line (those
//     of an assistant without separator), because many servers take no lists of text.
//   - Tool messages carry text only. Images and files of a tool result follow in a user message
//     behind the last result of the turn, and the tool message says so.
//   - A failed tool result begins with "Error: ".
//   - Freeform tools are offered as functions with one string parameter, "input"; calls of them
//     arrive as ordinary calls whose arguments are {"input": …}.
//   - Arguments of a tool call that are no JSON object are sent as {"_raw": "…"}, empty ones as {}.
//   - A refusal is kept as an opaque part of kind "refusal", and the answer ends in
//     llm.FinishContentFilter.
//   - Only the first choice of an answer is read.
//
// # Provider state
//
// The state of a Thinking part says how its text travels: a JSON string names the member of the
// assistant message that holds it ("reasoning_content"), an object with a type is a part of the
// content (Mistral), any other object holds whole members ("reasoning_details" and its like). The
// state of a ToolCall and an Opaque part of kind "message" hold further members of the call or the
// message. The state of a Text part is the content part as it was written. Thinking without state
// of this dialect and model is not sent.
//
// # Parse
//
// Parsing a request and encoding it again gives the same JSON, with these exceptions: members that
// are null are left out; tools get their type. A member that the unified request cannot reproduce
// is kept whole in the request's options beside what was understood of it.
package chat
