// Package coding is what makes an agent a coding agent: the tools it works with, and for each family
// of models the profile that puts them to use.
//
// [Open] assembles all of it into a session, as `reins run` does, and lets the caller replace each
// part. When the session changes to another model, tools and prompt follow it. The rest of the package is
// those parts.
//
// A [Profile] is plain data: [OpenAI], [Anthropic] and [Gemini] give the tools, base instructions,
// flags and options that fit the vendor's models, and [For] those of any other. Its SystemPrompt
// method assembles what the model is told at the start: instructions, environment, a snapshot of the
// repository, tools, project documents and the user's own instructions. With the [Native] toolset the
// model gets the tools of its vendor's own agent instead of the standard ones.
//
// [NewTools] gives the tools: reading, writing, editing and patching files, searching, running
// commands in the foreground and in the background, looking at images. They do all their work in
// the environment of the call, so the same tools run on this machine, in a container or in memory.
//
// Every tool says what a call will touch before it runs, refuses malformed input with a code and a
// hint that lets a model recover, and changes nothing on disk when it fails.
package coding
