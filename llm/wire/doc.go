// Package wire is what the provider adapters share, so that an adapter is a pair of pure functions
// over bytes and nothing else.
//
// A [Dialect] encodes requests and decodes answers; it does no I/O. [Provider] drives a dialect
// over HTTP with limits, errors and signing. [Read] turns one HTTP answer into events and is also
// what `reins wire decode` runs. [Value] reads JSON without building trees, [Encoder] writes it
// append-only, [SSE] splits event streams, [Assembler] builds the events and the response, and
// [History] remembers what was already encoded.
package wire
