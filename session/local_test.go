package session_test

import (
	"testing"

	"github.com/reins-agent/reins/internal/handletest"
	"github.com/reins-agent/reins/session"
)

func TestLocal(t *testing.T) {
	handletest.Run(t, func(_ *testing.T, local *session.Local) session.Handle { return local })
}
