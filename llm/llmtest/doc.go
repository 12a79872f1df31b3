// Package llmtest is a test kit for programs that call language models, without a model.
//
// A [Script] says what the model does, turn by turn. It is an llm.Provider itself, for tests in
// memory; a [Server] plays the same script over HTTP in the wire protocols of OpenAI (Responses
// and Chat Completions), Anthropic and Gemini, checks every request as strictly as the real APIs
// do, and breaks on demand in the ways that networks and providers break ([Fault]). [Recorder] and
// [Replayer] keep HTTP traffic in cassettes. [Conformance] is the suite that every adapter passes.
package llmtest
