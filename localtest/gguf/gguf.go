// Package gguf writes model files whose answers are scripted.
//
// A file has the form of a real model (llama architecture, one layer, a byte-level tokenizer) and runs in real servers.
// Its weights are a table that gives the token after each token: the layer adds nothing, a token's embedding is one
// dimension, and the output matrix maps this dimension to the next token. So tests with such a file check a real
// server's protocol, not the quality of answers.
package gguf

import (
	"fmt"
	"io"
)

// Model describes a scripted model.
type Model struct {
	// Answers are the model's answers: answer n after a prompt that ends with Cue(n), and nothing after any other
	// prompt.
	Answers []string
	// Endless repeats each answer forever.
	Endless bool
	// Context is the model's largest context window in tokens.
	Context int
	// Sample is a text from which the tokenizer learns words. Without it, each byte is a token.
	Sample string
}

// Cue returns the token that makes the model say an answer.
func Cue(answer int) string { return fmt.Sprintf("<|answer%d|>", answer) }

// Write writes the model to w.
func (m Model) Write(w io.Writer) error {
	v, err := m.vocabulary()
	if err != nil {
		return err
	}
	var f file
	f.metadata(m, v)
	f.tensors(v)
	return f.write(w)
}

// inner is the size of the attention head and of the feed-forward layer. They have no effect.
const inner = 32

func (f *file) metadata(m Model, v *vocabulary) {
	f.set("general.architecture", "llama")
	f.set("general.name", "scripted")
	f.set("general.file_type", uint32(0)) // 32-bit floats
	f.set("llama.context_length", uint32(m.Context))
	f.set("llama.embedding_length", uint32(v.width))
	f.set("llama.block_count", uint32(1))
	f.set("llama.feed_forward_length", uint32(inner))
	f.set("llama.attention.head_count", uint32(1))
	f.set("llama.attention.head_count_kv", uint32(1))
	f.set("llama.attention.key_length", uint32(inner))
	f.set("llama.attention.value_length", uint32(inner))
	f.set("llama.attention.layer_norm_rms_epsilon", float32(1e-6))
	f.set("llama.rope.dimension_count", uint32(inner))
	f.set("llama.vocab_size", uint32(len(v.tokens)))
	f.set("tokenizer.ggml.model", "gpt2")
	f.set("tokenizer.ggml.pre", "gpt-2")
	f.set("tokenizer.ggml.tokens", v.tokens)
	f.set("tokenizer.ggml.token_type", v.types)
	f.set("tokenizer.ggml.merges", v.merges)
	f.set("tokenizer.ggml.bos_token_id", uint32(end))
	f.set("tokenizer.ggml.eos_token_id", uint32(end))
	f.set("tokenizer.ggml.add_bos_token", false)
}

// tensors adds the weights.
func (f *file) tensors(v *vocabulary) {
	n, width := len(v.tokens), v.width
	embedding, output := v.weights()
	f.add("token_embd.weight", embedding, width, n)
	f.add("output.weight", output, width, n)
	ones := make([]float32, width)
	for i := range ones {
		ones[i] = 1
	}
	f.add("output_norm.weight", ones, width)
	f.add("blk.0.attn_norm.weight", ones, width)
	f.add("blk.0.ffn_norm.weight", ones, width)
	for _, name := range []string{"attn_q", "attn_k", "attn_v", "ffn_gate", "ffn_up"} {
		f.add("blk.0."+name+".weight", make([]float32, width*inner), width, inner)
	}
	for _, name := range []string{"attn_output", "ffn_down"} {
		f.add("blk.0."+name+".weight", make([]float32, width*inner), inner, width)
	}
}
