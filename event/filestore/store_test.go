package filestore

import (
	"testing"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/event/storetest"
)

func TestStore_IsAStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) event.Store {
		s, err := New(Config{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
