package event_test

import (
	"testing"

	"github.com/reins-agent/reins/event"
	"github.com/reins-agent/reins/event/storetest"
)

func TestMemory_IsAStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) event.Store { return new(event.Memory) })
}
