// Package object asks models for Go values instead of text.
//
// The JSON Schema of the wanted type goes out with the request, the answer is checked against it,
// and what comes back is a value of the type or an error that says what did not fit.
package object
