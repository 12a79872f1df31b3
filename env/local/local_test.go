package local_test

import (
	"log/slog"
	"testing"

	"go.uber.org/goleak"

	"github.com/reins-agent/reins/env"
	"github.com/reins-agent/reins/env/envtest"
	"github.com/reins-agent/reins/env/local"
	"github.com/reins-agent/reins/env/sandbox"
)

func TestMain(m *testing.M) {
	playRole()
	goleak.VerifyTestMain(m)
}

// newEnv returns an environment in an empty directory that is closed with the test.
func newEnv(t testing.TB, c local.Config) *local.Env {
	t.Helper()
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	if c.SpoolDir == "" {
		c.SpoolDir = t.TempDir()
	}
	e, err := local.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return e
}

func TestEnv_PassesEnvtest(t *testing.T) {
	envtest.Run(t, envtest.Subject{New: func(t *testing.T) env.Environment { return newEnv(t, local.Config{}) }})
}

func TestEnv_ConfinedPassesEnvtest(t *testing.T) {
	envtest.Run(t, envtest.Subject{New: func(t *testing.T) env.Environment { return newEnv(t, local.Config{Roots: []string{"."}}) }})
}

func TestLocal_SuiteInASandbox(t *testing.T) {
	if !sandbox.Probe().Any() {
		t.Skip("no sandbox on this system")
	}
	envtest.Run(t, envtest.Subject{New: func(t *testing.T) env.Environment {
		return newEnv(t, local.Config{Sandbox: sandbox.Config{Mode: sandbox.WorkspaceWrite}})
	}})
}

func TestReadOnly_PassesEnvtest(t *testing.T) {
	envtest.Run(t, envtest.Subject{New: func(t *testing.T) env.Environment { return env.ReadOnly(newEnv(t, local.Config{})) }})
}

func TestLogged_PassesEnvtest(t *testing.T) {
	envtest.Run(t, envtest.Subject{New: func(t *testing.T) env.Environment {
		return env.Logged(newEnv(t, local.Config{}), slog.New(slog.DiscardHandler))
	}})
}

func TestScoped_PassesEnvtest(t *testing.T) {
	envtest.Run(t, envtest.Subject{New: func(t *testing.T) env.Environment {
		e := newEnv(t, local.Config{})
		if err := e.Mkdir(t.Context(), "sub", 0o755); err != nil {
			t.Fatal(err)
		}
		return env.Scoped(e, "sub")
	}})
}
