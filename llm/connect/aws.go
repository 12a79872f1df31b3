package connect

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/reins-agent/reins/llm/bedrock"
)

// Variables for Amazon Bedrock.
const (
	bedrockToken = "AWS_BEARER_TOKEN_BEDROCK"
	bedrockURL   = "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"
	bedrockAPI   = "REINS_BEDROCK_API"
	mantleURL    = "ANTHROPIC_BEDROCK_MANTLE_BASE_URL"
	awsKeyID     = "AWS_ACCESS_KEY_ID"
	awsSecret    = "AWS_SECRET_ACCESS_KEY"
	awsSession   = "AWS_SESSION_TOKEN"
)

// awsProfile is a profile in the files that all AWS tools share.
type awsProfile struct {
	name   string
	values map[string]string
}

// awsProfile reads the profile that AWS_PROFILE names, or the default one. Values in the credentials file win.
func (c Config) awsProfile() (p awsProfile, err error) {
	named := cmp.Or(c.env("AWS_PROFILE"), c.env("AWS_DEFAULT_PROFILE"))
	p = awsProfile{name: cmp.Or(named, "default"), values: map[string]string{}}
	found := false
	for _, f := range []struct{ variable, file, section string }{
		{"AWS_CONFIG_FILE", "config", "profile " + p.name},
		{"AWS_SHARED_CREDENTIALS_FILE", "credentials", p.name},
	} {
		path := c.env(f.variable)
		if path == "" && c.home() == "" {
			continue
		}
		in, err := p.read(cmp.Or(path, c.home()+"/.aws/"+f.file), f.section)
		if err != nil {
			return p, notConfigured("bedrock", "%w", err)
		}
		found = found || in
	}
	if named != "" && !found && c.env(awsKeyID) == "" && c.env(bedrockToken) == "" {
		return p, notConfigured("bedrock", "AWS_PROFILE is %q, which is in neither ~/.aws/config nor ~/.aws/credentials", named)
	}
	return p, nil
}

// read adds the values in a file's section for the profile and reports whether the section exists. The file may be
// missing.
func (p awsProfile) read(path, section string) (found bool, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	inside := false
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		line := lines.Text()
		switch trimmed := strings.TrimSpace(line); {
		case trimmed == "", trimmed[0] == '#', trimmed[0] == ';', line[0] == ' ', line[0] == '\t': // or a nested value
		case trimmed[0] == '[':
			name := strings.Join(strings.Fields(strings.Trim(trimmed, "[]")), " ")
			inside = name == section || name == "default" && p.name == "default"
			found = found || inside
		case inside:
			key, value, _ := strings.Cut(trimmed, "=")
			p.values[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return found, nil
}

// external reports whether only the AWS command line can get the profile's credentials.
func (p awsProfile) external() bool {
	for key := range p.values {
		switch key {
		case "role_arn", "sso_session", "sso_start_url", "web_identity_token_file", "login_session":
			return true
		}
	}
	return false
}

func (p awsProfile) static() bedrock.Credentials {
	return bedrock.Credentials{
		AccessKeyID:     p.values["aws_access_key_id"],
		SecretAccessKey: p.values["aws_secret_access_key"],
		SessionToken:    p.values["aws_session_token"],
	}
}

// awsCredentials returns a function for the credentials and the name of their source. The function is nil without
// credentials.
func (c Config) awsCredentials(p awsProfile) (get func(context.Context) (bedrock.Credentials, error), from string, err error) {
	from = "the AWS profile " + p.name
	switch {
	case c.env(awsKeyID) != "":
		k := bedrock.Credentials{AccessKeyID: c.env(awsKeyID), SecretAccessKey: c.env(awsSecret), SessionToken: c.env(awsSession)}
		if k.SecretAccessKey == "" {
			return nil, "", notConfigured("bedrock", "%s is set, but %s is not", awsKeyID, awsSecret)
		}
		return func(context.Context) (bedrock.Credentials, error) { return k, nil }, awsKeyID, nil
	case p.external():
		return fromAWS("--profile", p.name), from, nil
	case p.values["aws_access_key_id"] != "":
		return func(context.Context) (bedrock.Credentials, error) {
			now, err := c.awsProfile() // other tools renew the file
			return now.static(), err
		}, from, nil
	case p.values["credential_process"] != "":
		shell := []string{"sh", "-c"}
		if runtime.GOOS == "windows" {
			shell = []string{"cmd", "/C"}
		}
		return fromCommand(shell[0], shell[1], p.values["credential_process"]), from, nil
	}
	for _, name := range []string{"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		if c.env(name) != "" {
			return fromAWS(), name, nil
		}
	}
	return nil, "", nil
}

// fromAWS returns the credentials that the AWS command line finds.
func fromAWS(flags ...string) func(context.Context) (bedrock.Credentials, error) {
	return fromCommand("aws", append([]string{"configure", "export-credentials", "--format", "process"}, flags...)...)
}

// fromCommand returns the credentials that a command prints as JSON, until they expire.
func fromCommand(name string, args ...string) func(context.Context) (bedrock.Credentials, error) {
	source := &cached[bedrock.Credentials]{fetch: func(ctx context.Context) (k bedrock.Credentials, expires time.Time, err error) {
		out, err := output(ctx, name, args...)
		if err != nil {
			return k, expires, fmt.Errorf("cannot get AWS credentials: %w", err)
		}
		var printed struct {
			AccessKeyID     string `json:"AccessKeyId"`
			SecretAccessKey string
			SessionToken    string
			Expiration      time.Time
		}
		if err := json.Unmarshal(out, &printed); err != nil || printed.AccessKeyID == "" || printed.SecretAccessKey == "" {
			return k, expires, fmt.Errorf("cannot get AWS credentials: %s printed none", name)
		}
		if printed.Expiration.IsZero() {
			printed.Expiration = time.Now().Add(time.Hour)
		}
		return bedrock.Credentials{
			AccessKeyID:     printed.AccessKeyID,
			SecretAccessKey: printed.SecretAccessKey,
			SessionToken:    printed.SessionToken,
		}, printed.Expiration, nil
	}}
	return source.get
}
