package textfile

import "fmt"

// A Kind says why a file cannot be read, or text cannot be written, as text.
// The values are stable.
type Kind string

const (
	// Binary is data with bytes that text does not have.
	Binary Kind = "binary"
	// Malformed is data that breaks the rules of the encoding its byte order
	// mark names.
	Malformed Kind = "malformed"
	// UnknownEncoding is data in none of the known encodings.
	UnknownEncoding Kind = "unknown_encoding"
	// Unencodable is new text that the file's encoding cannot represent.
	Unencodable Kind = "unencodable"
)

// An Error reports why data is not text or text cannot be stored.
type Error struct {
	Kind     Kind
	Encoding Encoding // the encoding concerned, for Malformed and Unencodable
	Offset   int      // byte offset of the first offending byte or character
	Rune     rune     // the character, for Unencodable
	Reason   string   // one clause in plain words
}

func (e *Error) Error() string {
	switch e.Kind {
	case Unencodable:
		return fmt.Sprintf("the new text contains %s, which %s cannot represent; use only characters that the file's encoding has", describeRune(e.Rune), e.Encoding)
	case Malformed:
		return fmt.Sprintf("the file is not valid %s: %s at byte %d; it was left untouched", e.Encoding, e.Reason, e.Offset)
	case Binary:
		return fmt.Sprintf("the file is binary, not text: %s at byte %d; it was left untouched", e.Reason, e.Offset)
	default:
		return fmt.Sprintf("the file is not text in a known encoding: %s at byte %d; it was left untouched", e.Reason, e.Offset)
	}
}
