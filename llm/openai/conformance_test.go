package openai_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/reins-agent/reins/internal/conformance"
	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	conformance.Run(t, conformance.Subject{
		Dialect: openai.Name,
		Model:   "gpt-5.5",
		Open:    func(e llm.Endpoint) llm.Provider { return openai.New(openai.Config{Endpoint: e}) },
	})
}
