package env

// Wrapper is an environment that passes most of its work on to another one and uses the same
// paths. [ReadOnly] and [Logged] give wrappers. [Scoped] does not: its paths mean something else.
type Wrapper interface {
	Environment
	Unwrap() Environment
}

// As finds an optional interface T, such as a search of its own, on e or on the first environment
// below it that has it.
//
// An environment may have methods beyond [Environment] that its wrappers cannot know. Asking with
// a type assertion would lose them at the first wrapper; As does not. What it finds answers below
// the wrappers, so T must be an interface that only reads.
func As[T any](e Environment) (T, bool) {
	for {
		if t, ok := e.(T); ok {
			return t, true
		}
		w, ok := e.(Wrapper)
		if !ok {
			var none T
			return none, false
		}
		e = w.Unwrap()
	}
}
