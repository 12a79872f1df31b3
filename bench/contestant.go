package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// contestant is a program to measure.
type contestant struct {
	name string
	note string              // why it cannot be measured, or ""
	tool string              // its shell tool
	args func(string) string // the tool's arguments for a command
	box  bool                // it runs commands in a sandbox, unlike the floor
	// command returns the command line and additional environment variables, and may write files to the empty home
	// directory.
	command func(url, home string, rounds int) (argv, env []string)
}

const prompt = "Run every command that you are asked to run."

// object returns a function that encodes a JSON object with one string.
func object(key string) func(string) string {
	return func(value string) string {
		b, _ := json.Marshal(map[string]string{key: value})
		return string(b)
	}
}

func floorContestant(path string) contestant {
	return contestant{
		name: "floor", tool: "shell", args: object("command"),
		command: func(url, _ string, _ int) ([]string, []string) { return []string{path, url, prompt}, nil },
	}
}

func reinsContestant(path, name, provider, model string, flags ...string) contestant {
	return contestant{
		name: name, tool: "shell", args: object("command"), box: !slices.Contains(flags, "--sandbox=off"),
		command: func(url, _ string, rounds int) ([]string, []string) {
			argv := append([]string{path, "run", "--yes", "--provider", provider, "--model", model, "--base-url", url,
				"--max-rounds", strconv.Itoa(rounds + 1)}, flags...)
			return append(argv, prompt), []string{"OPENAI_API_KEY=bench", "ANTHROPIC_API_KEY=bench"}
		},
	}
}

// peers returns coding agents from npm. Each runs without approvals and without a sandbox.
func peers() []contestant {
	all := []contestant{codex(), claudeCode(), pi("pi", "anthropic-messages", "bench"), geminiCLI()}
	for i, c := range all {
		all[i].note = installed(c.name)
	}
	return all
}

// installed returns why a program cannot be measured, or "".
func installed(program string) string {
	if _, err := exec.LookPath(program); err != nil {
		return "not installed"
	}
	return ""
}

func codex() contestant {
	return contestant{
		name: "codex", tool: "exec_command", args: object("cmd"),
		command: func(url, _ string, _ int) ([]string, []string) {
			provider := `model_providers.bench={name="bench",base_url="` + url + `",wire_api="responses",env_key="OPENAI_API_KEY"}`
			return []string{"codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
				"-c", provider, "-c", `model_provider="bench"`, "-m", "gpt-5.1-codex", prompt}, []string{"OPENAI_API_KEY=bench"}
		},
	}
}

func claudeCode() contestant {
	return contestant{
		name: "claude", tool: "Bash", args: object("command"),
		command: func(url, _ string, _ int) ([]string, []string) {
			return []string{"claude", "-p", "--dangerously-skip-permissions", "--model", "claude-sonnet-4-5", prompt},
				[]string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=bench", "IS_SANDBOX=1",
					"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1"}
		},
	}
}

// pi returns pi with a custom provider that uses one of its protocols.
func pi(name, api, model string) contestant {
	return contestant{
		name: name, tool: "bash", args: object("command"),
		command: func(url, home string, _ int) ([]string, []string) {
			dir := filepath.Join(home, ".pi", "agent")
			models := `{"providers":{"bench":{"baseUrl":"` + url + `","apiKey":"bench","api":"` + api + `","models":[` +
				`{"id":"` + model + `","name":"bench","reasoning":false,"input":["text"],"contextWindow":1000000,"maxTokens":8192,` +
				`"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0}}]}}}`
			_ = os.MkdirAll(dir, 0o755)
			_ = os.WriteFile(filepath.Join(dir, "models.json"), []byte(models), 0o600)
			return []string{"pi", "-p", "--provider", "bench", "--model", model, prompt}, []string{"PI_OFFLINE=1"}
		},
	}
}

func geminiCLI() contestant {
	return contestant{
		name: "gemini", tool: "run_shell_command", args: object("command"),
		command: func(url, home string, _ int) ([]string, []string) {
			dir := filepath.Join(home, ".gemini")
			_ = os.MkdirAll(dir, 0o755)
			settings := `{"security":{"auth":{"selectedType":"gemini-api-key"}},` +
				`"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false}}`
			_ = os.WriteFile(filepath.Join(dir, "settings.json"), []byte(settings), 0o600)
			return []string{"gemini", "-y", "-m", "gemini-2.5-flash", "-p", prompt},
				[]string{"GOOGLE_GEMINI_BASE_URL=" + url, "GEMINI_API_KEY=bench", "GEMINI_CLI_TRUST_WORKSPACE=true"}
		},
	}
}
