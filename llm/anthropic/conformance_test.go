package anthropic_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/reins-agent/reins/internal/conformance"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/anthropic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	conformance.Run(t, conformance.Subject{
		Dialect: anthropic.Name,
		Model:   "claude-test",
		Open:    func(e llm.Endpoint) llm.Provider { return anthropic.New(anthropic.Config{Endpoint: e}) },
	})
}
