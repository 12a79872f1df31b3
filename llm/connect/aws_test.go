package connect_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/llm"
	"github.com/reins-agent/reins/llm/connect"
	"github.com/reins-agent/reins/llm/llmtest"
)

// write writes a file in a temporary directory and returns its path.
func write(t *testing.T, dir, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// scripts skips a test that needs a shell script as a command.
func scripts(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the commands of this test are shell scripts")
	}
}

const awsConfig = `# shared by all tools
[default]
region = eu-west-1

[profile work]
region=eu-west-2
s3 =
    region = nested
[profile  run ]
region = eu-west-3
credential_process = cat "%s/printed.json"

[profile sso]
region = eu-north-1
sso_session = corp
[sso-session corp]
region = wrong
`

const awsKeys = `[default]
aws_access_key_id = DEFAULTID
aws_secret_access_key = default/secret=
; a comment
[work]
aws_access_key_id = WORKID
aws_secret_access_key = work
aws_session_token = worktoken
`

func TestBedrock_ReadsProfilesInSharedFiles(t *testing.T) {
	scripts(t)
	home := t.TempDir()
	write(t, home, ".aws/config", fmt.Sprintf(awsConfig, home), 0o600)
	keys := write(t, home, ".aws/credentials", awsKeys, 0o600)
	write(t, home, "printed.json", `{"Version":1,"AccessKeyId":"RUNID","SecretAccessKey":"s","SessionToken":"runtoken"}`, 0o600)
	bin := t.TempDir()
	write(t, bin, "aws", `#!/bin/sh
case "$*" in
"configure export-credentials --format process --profile sso") id=SSOID ;;
"configure export-credentials --format process") id=PODID ;;
*) exit 1 ;;
esac
echo '{"AccessKeyId":"'$id'","SecretAccessKey":"s","Expiration":"2999-01-01T00:00:00Z"}'
`, 0o700)
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, tt := range []struct {
		name              string
		env               env
		id, region, token string
	}{
		{"default", env{"HOME": home}, "DEFAULTID", "eu-west-1", ""},
		{"named", env{"HOME": home, "AWS_PROFILE": "work"}, "WORKID", "eu-west-2", "worktoken"},
		{"region of the environment", env{"HOME": home, "AWS_DEFAULT_PROFILE": "work", "AWS_REGION": "us-east-1"}, "WORKID", "us-east-1", "worktoken"},
		{"process", env{"HOME": home, "AWS_PROFILE": "run"}, "RUNID", "eu-west-3", "runtoken"},
		{"single sign-on", env{"HOME": home, "AWS_PROFILE": "sso"}, "SSOID", "eu-north-1", ""},
		{"keys of the environment", env{"HOME": home, "AWS_PROFILE": "work", "AWS_ACCESS_KEY_ID": "ENVID", "AWS_SECRET_ACCESS_KEY": "s"}, "ENVID", "eu-west-2", ""},
		{"container", env{"AWS_CONTAINER_CREDENTIALS_FULL_URI": "x", "AWS_REGION": "us-east-1"}, "PODID", "us-east-1", ""},
		{"other files", env{"AWS_SHARED_CREDENTIALS_FILE": keys, "AWS_REGION": "us-east-1"}, "DEFAULTID", "us-east-1", ""},
	} {
		r := sent(t, "bedrock", "anthropic.claude", tt.env)
		if got := r.Header.Get("Authorization"); !strings.Contains(got, "Credential="+tt.id+"/") || !strings.Contains(got, "/"+tt.region+"/bedrock/") ||
			r.Header.Get("X-Amz-Security-Token") != tt.token || !strings.HasPrefix(r.Host, "bedrock-runtime."+tt.region+".") {
			t.Errorf("%s: got %s for %s, want %s in %s", tt.name, got, r.Host, tt.id, tt.region)
		}
	}
}

func TestBedrock_RenewedCredentialsAreUsed(t *testing.T) {
	server := llmtest.StartServer(llmtest.ServerConfig{Script: &llmtest.Script{Reply: func(int, *llm.Request) llmtest.Turn { return llmtest.Say("hi") }}, Key: "second"})
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	home := t.TempDir()
	keys := "[default]\naws_access_key_id = ID\naws_secret_access_key = %s\n"
	write(t, home, ".aws/credentials", fmt.Sprintf(keys, "first"), 0o600)
	c, err := connect.Open(t.Context(), "bedrock", connect.Config{Getenv: env{"HOME": home, "AWS_REGION": "us-east-1"}.get, BaseURL: server.BaseURL("bedrock"), HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Complete(t.Context(), request("", "amazon.nova")); llm.KindOf(err) != llm.ErrAuthentication || !strings.Contains(err.Error(), "the AWS profile default") {
		t.Errorf("with the old key: got %v", err)
	}
	write(t, home, ".aws/credentials", fmt.Sprintf(keys, "second"), 0o600)
	if resp, err := c.Complete(t.Context(), request("", "amazon.nova")); err != nil || resp.Text() != "hi" || resp.Provider != "bedrock" {
		t.Errorf("with the new key: got %+v, %v", resp, err)
	}
}

func TestBedrock_CommandsRunAgainOnlyWhenTheirCredentialsExpire(t *testing.T) {
	scripts(t)
	for expires, want := range map[string]int{
		time.Now().Add(time.Hour).UTC().Format(time.RFC3339):   1,
		time.Now().Add(time.Minute).UTC().Format(time.RFC3339): 3, // too soon
	} {
		home := t.TempDir()
		log := filepath.Join(home, "log")
		write(t, home, "get.sh", fmt.Sprintf("echo run >> '%s'\necho '{\"AccessKeyId\":\"ID\",\"SecretAccessKey\":\"s\",\"Expiration\":\"%s\"}'\n", log, expires), 0o600)
		write(t, home, ".aws/config", "[default]\nregion = eu-west-1\ncredential_process = sh '"+home+"/get.sh'\n", 0o600)
		srv := newRecorder(t, 400)
		c, err := connect.Open(t.Context(), "bedrock", connect.Config{Getenv: env{"HOME": home}.get, BaseURL: srv.URL, HTTPClient: srv.Client()})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			_, _ = c.Complete(t.Context(), request("", "amazon.nova")) // refused; only the signature matters
		}
		if !strings.Contains(srv.last(t).Header.Get("Authorization"), "Credential=ID/") {
			t.Errorf("the headers are %v", srv.last(t).Header)
		}
		runs, err := os.ReadFile(log)
		if got := strings.Count(string(runs), "run"); err != nil || got != want {
			t.Errorf("expires at %s: the command ran %d times (%v), want %d", expires, got, err, want)
		}
	}
}

func TestBedrock_AFailingCommandIsExplained(t *testing.T) {
	scripts(t)
	for command, says := range map[string]string{"echo 'token expired: log in' >&2; exit 3": "token expired: log in", "echo '{}'": "printed none"} {
		home := t.TempDir()
		write(t, home, ".aws/config", "[default]\nregion = eu-west-1\ncredential_process = "+command+"\n", 0o600)
		c, err := connect.Open(t.Context(), "bedrock", connect.Config{Getenv: env{"HOME": home}.get})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Complete(t.Context(), request("", "amazon.nova")); llm.KindOf(err) != llm.ErrConfiguration || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want an error with %q", command, err, says)
		}
	}
}
