package envtest_test

import (
	"log/slog"
	"testing"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/envtest"
)

// An environment that implements only the interface passes the suite, with every platform's paths and in every wrapper.
func TestMemory_PassesEnvtest(t *testing.T) {
	for _, platform := range []string{"linux", "windows"} {
		for name, wrap := range map[string]func(t *testing.T, e env.Environment) env.Environment{
			"plain":     func(_ *testing.T, e env.Environment) env.Environment { return e },
			"read-only": func(_ *testing.T, e env.Environment) env.Environment { return env.ReadOnly(e) },
			"logged": func(_ *testing.T, e env.Environment) env.Environment {
				return env.Logged(e, slog.New(slog.DiscardHandler))
			},
			"scoped": func(t *testing.T, e env.Environment) env.Environment {
				if err := e.Mkdir(t.Context(), "Sub", 0o755); err != nil {
					t.Fatal(err)
				}
				return env.Scoped(e, "Sub")
			},
		} {
			t.Run(platform+"/"+name, func(t *testing.T) {
				envtest.Run(t, envtest.Subject{
					New:        func(t *testing.T) env.Environment { return wrap(t, envtest.NewMemory(platform)) },
					NoCommands: true,
				})
			})
		}
	}
}
