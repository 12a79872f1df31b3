// Package picture makes images acceptable to model providers.
//
// An image that a provider refuses poisons the conversation it is in: it is sent again with every
// later request, and refused again. Therefore an image is looked at once, when it comes in: [Fit]
// finds out what it is from its bytes, passes on what is within the [Limits], scales down and
// re-encodes what is too large, converts what the provider does not read, and refuses what no
// provider could read with an [Error] that says why.
//
// Work is bounded: an image is decoded only if its header promises no more memory than a fixed cap.
package picture
