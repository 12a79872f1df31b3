package picture

// Reason says why an image cannot be sent.
type Reason string

// The reasons.
const (
	NotAnImage  Reason = "not_an_image" // the bytes are no image of a known kind
	Unsupported Reason = "unsupported"  // it is an image of a kind that can be neither sent nor converted
	Corrupt     Reason = "corrupt"      // it is damaged or incomplete
	TooLarge    Reason = "too_large"    // decoding it would take too much memory, or nothing made it small enough
)

// Error is why an image cannot be sent.
type Error struct {
	Reason  Reason
	Message string // one sentence
	Err     error  // of the decoder, if there is one
}

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.Err }
