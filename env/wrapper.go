package env

import "context"

// Wrapper is an environment that passes its work on to another one. [ReadOnly], [Logged] and
// [Scoped] give wrappers.
//
// An environment may have methods beyond [Environment] that its wrappers cannot know, such as a
// search of its own. Whoever looks for one goes down with Unwrap and asks each wrapper on the way,
// with Below, for the path to use there. Only reading is done this way, and only of what lies at
// or below the path without following symbolic links: for anything else a wrapper must be asked
// itself.
type Wrapper interface {
	Environment
	// Unwrap gives the environment below.
	Unwrap() Environment
	// Below announces that what a path names will be read past this wrapper. It gives the path's
	// name below, or an error if the wrapper would refuse it. The caller calls done once with the
	// outcome; op names the operation for a log.
	Below(ctx context.Context, op, path string) (below string, done func(error), err error)
}
