package secret

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reins-agent/reins/env/local"
)

// body returns n random-looking characters.
func body(n int) string { return strings.Repeat("aB3dE6gH9", n/9+1)[:n] }

func redactor(t testing.TB, c Config) *Redactor {
	t.Helper()
	r, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// shapeSamples returns, for each shape, a text, the secret in it and its kind.
func shapeSamples() [][3]string {
	hexes, upper := strings.Repeat("0123456789abcdef", 4), "ABCDEFGH23456789"[:16]
	pemBody := strings.Repeat("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n", 3)
	pemText := "-----BEGIN RSA " + "PRIVATE KEY-----\n" + pemBody + "-----END RSA PRIVATE KEY-----"
	locked := "-----BEGIN " + "PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0011\n\n" + pemBody + "-----END PRIVATE KEY-----"
	list := [][3]string{
		{"%s", pemText, "private-key"},
		{"x = \"%s\"", strings.ReplaceAll(pemText, "\n", `\n`), "private-key"},
		{"%s", locked, "private-key"},
		{"%s", "-----BEGIN OPENSSH " + "PRIVATE KEY-----\n" + pemBody, "private-key"},
		{"id %s.", "AKIA" + upper, "aws-key-id"},
		{"token: %s", "eyJ" + body(20) + ".eyJ" + body(30) + "." + body(43), "jwt"},
		{"Authorization: Bearer %s", body(24), "authorization"},
		{`{"authorization": "Basic %s"}`, "dXNlcjpwYXNz", "authorization"},
		{"curl -H 'X-Api-Key: %s'", body(20), "authorization"},
		{"sent bearer %s to it", body(30), "bearer"},
		{"postgres://admin:%s@db:5432/x", "hunter2", "url-password"},
		{"GET https://x.test/a?api_key=%s&b=1", "aB3dE6gH9", "query"},
		{"https://x.test/?a=1&key=%s", body(20), "query"},
		{"aws_secret_access_key = %s", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzKEYKEY", "assignment"},
		{`"DB_PASSWORD": "%s"`, body(18), "assignment"},
		{"https://%s", "hooks.slack.com/services/T00/B00/" + body(24), "slack-webhook"},
	}
	for _, k := range []struct{ prefix, body, kind string }{
		{"sk-ant-api03-", body(95), "anthropic-key"}, {"sk-proj-", body(60), "openai-key"}, {"sk-", body(48), "api-key"},
		{"AIza", body(35), "google-key"}, {"ghp_", body(36), "github-token"}, {"gho_", body(36), "github-token"}, {"github_pat_", body(82), "github-token"},
		{"glpat-", body(20), "gitlab-token"}, {"xoxb-", "123456789012-" + body(24), "slack-token"}, {"sk_live_", body(24), "stripe-key"},
		{"rk_live_", body(24), "stripe-key"}, {"npm_", body(36), "npm-token"}, {"pypi-AgEIcHlwaS5vcmc", body(50), "pypi-token"}, {"hf_", body(34), "huggingface-token"},
		{"dop_v1_", hexes, "digitalocean-token"}, {"gsk_", body(52), "groq-key"}, {"SG.", body(66), "sendgrid-key"},
	} {
		list = append(list, [3]string{"see (%s), ok", k.prefix + k.body, k.kind})
	}
	return list
}

func TestText_RedactsKnownShapes(t *testing.T) {
	r := redactor(t, Config{})
	for _, s := range shapeSamples() {
		text := fmt.Sprintf(s[0], s[1])
		got := r.Text(text)
		if strings.Contains(got, s[1]) || !strings.Contains(got, "[redacted:"+s[2]+"]") {
			t.Errorf("%s\nbecame %s\nwant [redacted:%s]", text, got, s[2])
		}
		for i := 0; i+12 <= len(s[1]); i++ {
			if part := s[1][i : i+12]; strings.Contains(got, part) && !strings.Contains(s[0], part) && !strings.HasPrefix(s[1], "hooks.") {
				t.Errorf("%s\nkeeps the part %q", got, part)
				break
			}
		}
	}
}

func TestText_KeepsOrdinaryText(t *testing.T) {
	r := redactor(t, Config{Vars: []string{
		"PWD=/home/user/project", "SORT_KEY=created_at", "MAX_TOKENS=32000000", "DB_PASSWORD=postgres", "AUTH=disabled", "API_KEY=short",
		"GOOGLE_APPLICATION_CREDENTIALS=/home/user/creds.json", "DATABASE_URL=postgres://localhost:5432/app", "KEY=${OTHER_KEY}", "HOMEPAGE=https://x.test/index",
	}})
	for _, text := range []string{
		"the task-ant-colony and risk-averse sk-learn classes", "authorization: required before deploying", "Authorization: Bearer YOUR_TOKEN",
		"bearer of good news everywhere", "http://localhost:8080/path@2x.png", "postgres://postgres:postgres@localhost/db", "https://user:${PASSWORD}@host",
		"TOKEN = generateToken()", "password: string", `{"token_count": 12345678901234567890}`, "eyJub3QgYSBqd3Q", "-----BEGIN CERTIFICATE-----\nMIIEvQIBADANBgkq\n",
		`strings.Contains(s, "-----BEGIN RSA ` + `PRIVATE KEY-----") {`, "AKIA is a prefix", "AKIA" + strings.Repeat("A", 30), "x?key=overview&page=2", "git commit 4f2a1b9c8d7e6f5a4b3c2d1e0f9a8b7c6d5e4f3a",
		"cd /home/user/project && sort created_at 32000000 postgres short /home/user/creds.json postgres://localhost:5432/app ${OTHER_KEY} https://x.test/index", "[redacted:github-token]",
	} {
		if got := r.Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestText_RedactsValuesOfVariables(t *testing.T) {
	r := redactor(t, Config{Names: []string{"ACME_*"}, Vars: []string{
		"STRIPE=ignored-value", "ACME_LICENCE=horse-battery", "MYSQL_PWD=correct-horse", "APP_DSN=mysql://root:tr0ub4dor@db/app", "HTTPS_PROXY=http://me:pr0xy-word@proxy:3128",
		"CI_JOB_TOKEN=one-two-three", "GH_PAT=abc12345", "SENTRY_AUTH=Zebra-77", "WEIRD_SECRET=a\"b\\c\nd-e-f", "NO=horse-battery", "acme_seat=lower-battery",
	}})
	for text, want := range map[string]string{
		"ignored-value":          "ignored-value",
		"<horse-battery>":        "<[redacted:ACME_LICENCE]>",
		"lower-battery":          "[redacted:acme_seat]",
		"xcorrect-horsex":        "x[redacted:MYSQL_PWD]x",
		"tr0ub4dor":              "[redacted:APP_DSN]",
		"pr0xy-word":             "[redacted:HTTPS_PROXY]",
		"one-two-three":          "[redacted:CI_JOB_TOKEN]",
		"abc12345 Zebra-77":      "[redacted:GH_PAT] [redacted:SENTRY_AUTH]",
		"a\"b\\c\nd-e-f":         "[redacted:WEIRD_SECRET]",
		`{"x":"a\"b\\c\nd-e-f"}`: `{"x":"[redacted:WEIRD_SECRET]"}`,
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestName_KnowsNamesOfSecrets(t *testing.T) {
	for _, name := range []string{
		"API_KEY", "OPENAI_API_KEY", "apiKey", "x-api-key", "APIKEY", "SECRET", "CLIENT_SECRET", "clientSecret", "TOKEN", "GITHUB_TOKEN", "NPM_TOKEN", "PASSWORD", "PGPASSWORD", "MYSQL_PWD",
		"DB_PASS", "SSHPASS", "PASSPHRASE", "CREDENTIALS", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "PRIVATE_KEY", "SSH_KEY", "DATABASE_URL", "SENTRY_DSN", "GH_PAT",
		"BASIC_AUTH", "REDIS_URL", "MONGODB_URI", "SLACK_WEBHOOK_URL", "COOKIE", "JWT", "ENCRYPTION_KEY", "APP_KEY", "STRIPE_KEY", "DB_PASSWORD_PROD", "CONNECTION_STRING", "password",
	} {
		if !Name(name) {
			t.Errorf("%s is not secret", name)
		}
	}
	for _, name := range []string{"PWD", "OLDPWD", "PATH", "HOME", "KEYBOARD", "TOKENIZER", "AUTHOR", "COMPASSION", "SSH_AUTH_SOCK", "LANG", "path", "content", "command", "session_id", "old_string", "XAUTHORITY", "pattern"} {
		if Name(name) {
			t.Errorf("%s is secret", name)
		}
	}
}

func TestStream_CatchesASecretSplitAnywhere(t *testing.T) {
	r := redactor(t, Config{Vars: []string{"APP_SECRET=ghost-pepper-42", "APP_TOKEN=ghost-pepper-42-long"}, Patterns: []string{`EMP-\d{6}`}})
	samples := [][3]string{{"%s", "ghost-pepper-42", ""}, {"%s!", "ghost-pepper-42-long", ""}, {"no %s\n", "EMP-123456", ""}}
	for _, s := range append(samples, shapeSamples()...) {
		text := "before " + fmt.Sprintf(s[0], s[1]) + " after"
		want := r.Text(text)
		if want == text {
			t.Fatalf("%q is not redacted", text)
		}
		for i := range len(text) {
			st := r.Stream()
			got := string(st.Write([]byte(text[:i])))
			got += string(st.Write([]byte(text[i:])))
			if got += string(st.Close()); got != want {
				t.Fatalf("split at %d, %q became %q, want %q", i, text, got, want)
			}
		}
	}
}

func TestStream_HoldsBackOnlyABoundedTail(t *testing.T) {
	r := redactor(t, Config{})
	for _, text := range []string{
		strings.Repeat("A", 1<<16), "eyJ" + strings.Repeat("a", 1<<16), "https://" + strings.Repeat("a:", 1<<15), "Bearer " + strings.Repeat("a", 1<<16),
		"-----BEGIN " + strings.Repeat("A ", 1<<15), "SECRET" + strings.Repeat(" ", 1<<16),
	} {
		s, n := r.Stream(), 0
		for i := range len(text) {
			n += len(s.Write([]byte(text[i : i+1])))
			if held := i + 1 - n; held > 4096 && s.Found() == 0 {
				t.Fatalf("%.20q: %d bytes are held back", text, held)
			}
		}
	}
	s := r.Stream()
	if got := string(s.Write([]byte("Enter a name: "))); got != "Enter a name: " {
		t.Errorf("a prompt is shown as %q", got)
	}
}

func TestText_RedactsPrivateKeysInNumberedLines(t *testing.T) {
	r := redactor(t, Config{})
	block := "-----BEGIN PRIVATE " + "KEY-----\n" + strings.Repeat("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\n", 3) + "-----END PRIVATE KEY-----\nafter it"
	for _, prefix := range []string{"%d\t", "%6d | ", "%d→", "%d:", "key.pem:%d:", "key.pem-%d-", "+", "    "} {
		text := ""
		for i, line := range strings.Split(block, "\n") {
			if strings.Contains(prefix, "%") {
				text += fmt.Sprintf(prefix, i+8)
			} else {
				text += prefix
			}
			text += line + "\n"
		}
		if got := r.Text(text); strings.Contains(got, "hkiG9w0B") || !strings.Contains(got, "after it") {
			t.Errorf("with %q, it became\n%s", prefix, got)
		}
	}
}

func TestText_SearchesWhatAnnouncesASecret(t *testing.T) {
	r := redactor(t, Config{})
	got := r.Text("https://ghp_" + body(36) + ":x-oauth-basic@github.com")
	if want := "https://[redacted:github-token]:[redacted:url-password]@github.com"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPatterns_ApplyWithinLinesAndNotToPlaceholders(t *testing.T) {
	r := redactor(t, Config{Patterns: []string{`[a-z]{8,}`, `\d{4}-\d{4}`}})
	in := "card 1234-5678 ghp_" + body(36) + "\nabcdefghijk"
	want := "card [redacted:pattern] [redacted:github-token]\n[redacted:pattern]"
	if got := r.Text(in); got != want || r.Text(got) != want {
		t.Errorf("got %q, then %q, want %q", got, r.Text(got), want)
	}
	for _, bad := range []Config{{Patterns: []string{"("}}, {Patterns: []string{"a*"}}, {Names: []string{"*"}}} {
		if _, err := New(t.Context(), bad); err == nil || !strings.Contains(err.Error(), "invalid secret") {
			t.Errorf("%+v: got error %v", bad, err)
		}
	}
}

func TestDotenv_ValuesAreRedactedAndFollowTheFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(".env", "# comment\nexport A_TOKEN='tok-en-one' # no\nPLAIN=development\nB=x9Y8z7W6v5U4\nMULTI_SECRET=\"line-one-11\\nline-two\"\nBROKEN=\"never closed\nC_PASSWORD=after-broken\n")
	write(".env.example", "D_SECRET=example-value")
	write("apps/web/.env.local", "E_SECRET=nested-value")
	write("deep/er/than/that/.env", "F_SECRET=too-deep-value")
	e, err := local.New(local.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	r := redactor(t, Config{Env: e})
	check := func(text, want string) {
		t.Helper()
		if got := r.Text(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	check("tok-en-one development x9Y8z7W6v5U4", "[redacted:A_TOKEN] development [redacted:B]")
	check("line-one-11\nline-two after-broken", "[redacted:MULTI_SECRET] [redacted:C_PASSWORD]")
	r.Refresh(t.Context())
	check("example-value nested-value too-deep-value", "example-value [redacted:E_SECRET] too-deep-value")

	write(".env.production", "G_SECRET=new-file-value")
	write(".env", "A_TOKEN=tok-en-two-longer\n")
	later := time.Now().Add(time.Second)
	if err := os.Chtimes(dir, later, later); err != nil {
		t.Fatal(err)
	}
	r.Refresh(t.Context(), filepath.Join(dir, "deep/er/than/that/.env"))
	check("new-file-value tok-en-one tok-en-two-longer too-deep-value", "[redacted:G_SECRET] [redacted:A_TOKEN] [redacted:A_TOKEN] [redacted:F_SECRET]")
}

func TestJSON_RedactsStringsAndSecretFields(t *testing.T) {
	r := redactor(t, Config{Vars: []string{"X_SECRET=a\"quoted\"one"}})
	in := `{"z": "a\"quoted\"one", "password" : "hi", "nested":{"apiKey":["x1","y2"],"n":1e3}, "key":"created_at", "a":"<b>"}`
	want := `{"z": "[redacted:X_SECRET]", "password" : "[redacted:password]", "nested":{"apiKey":["[redacted:apiKey]","[redacted:apiKey]"],"n":1e3}, "key":"created_at", "a":"<b>"}`
	if got := string(r.JSON([]byte(in))); got != want || string(r.JSON([]byte(got))) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := string(r.JSON([]byte(`{"cut: ghp_` + body(36)))); got != `{"cut: [redacted:github-token]` {
		t.Errorf("text that is not JSON became %s", got)
	}
}

func TestAdded_FindsNewPlaceholders(t *testing.T) {
	for _, c := range []struct{ old, text, want string }{
		{"a", "b", ""}, {"", "x [redacted:jwt]", "[redacted:jwt]"}, {"[redacted:jwt]", "y [redacted:jwt]", ""},
		{"[redacted:jwt]", "[redacted:jwt][redacted:jwt]", "[redacted:jwt]"}, {"[redacted:a]", "[redacted:b]", "[redacted:b]"}, {"", "[redacted:]", ""},
	} {
		if got := Added([]byte(c.old), []byte(c.text)); got != c.want {
			t.Errorf("Added(%q, %q) = %q, want %q", c.old, c.text, got, c.want)
		}
	}
}

func TestRedactor_NilChangesNothing(t *testing.T) {
	var r *Redactor
	r.Refresh(t.Context())
	s := r.Stream()
	if got := r.Text("ghp_"+body(36)) + string(s.Write([]byte("a"))) + string(s.Close()) + string(r.JSON([]byte("1"))); got != "ghp_"+body(36)+"a1" {
		t.Errorf("got %q", got)
	}
}

// FuzzStream checks that the result depends neither on how text is split nor on whether it was redacted before.
func FuzzStream(f *testing.F) {
	for _, s := range shapeSamples() {
		f.Add(fmt.Sprintf(s[0], s[1]), uint8(3))
	}
	r := redactor(f, Config{Vars: []string{"APP_SECRET=ghost-pepper-42", "APP_TOKEN=ghost-pepper-42-long"}, Patterns: []string{`EMP-\d+`}})
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		want := r.Text(text)
		if again := r.Text(want); again != want {
			t.Errorf("%q became %q, and then %q", text, want, again)
		}
		s, got := r.Stream(), ""
		for rest := []byte(text); len(rest) > 0; {
			n := min(len(rest), int(size)+1)
			got += string(s.Write(rest[:n]))
			rest = rest[n:]
		}
		if got += string(s.Close()); got != want {
			t.Errorf("in pieces of %d, %q became %q, want %q", int(size)+1, text, got, want)
		}
		r.JSON([]byte(text))
	})
}

// BenchmarkStream measures ordinary text: source code.
func BenchmarkStream(b *testing.B) {
	text, err := os.ReadFile("../env/local/process.go")
	if err != nil {
		b.Fatal(err)
	}
	r := redactor(b, Config{Vars: os.Environ()})
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s := r.Stream()
		s.Write(text)
		s.Close()
	}
}

// BenchmarkNew measures the cost per session.
func BenchmarkNew(b *testing.B) {
	e, err := local.New(local.Config{Dir: ".."})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	for b.Loop() {
		redactor(b, Config{Vars: os.Environ(), Env: e})
	}
}

// BenchmarkRefresh measures the cost per tool call if no file has changed.
func BenchmarkRefresh(b *testing.B) {
	e, err := local.New(local.Config{Dir: ".."})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	r := redactor(b, Config{Env: e})
	for b.Loop() {
		r.Refresh(b.Context())
	}
}

func TestRandom_NeedsFourChangesOfClassAndADigit(t *testing.T) {
	for value, want := range map[string]bool{
		"abc12DEF34gh":        true,  // four changes
		"abcd1234ABCD5678":    false, // three
		"abCdeFghIjk1":        true,  // changes between small and capital letters count
		"aBcDeFgHiJkL":        false, // no digit
		"AB1CD2EF3GH4":        true,
		"zz0zz0zz0zz0":        true, // the last and first characters in their classes
		"ZZ9ZZ9ZZ9ZZ9":        true,
		"ab1cd2ef3gh":         false, // eleven characters
		"ab1cd2ef3gh4":        true,
		"ab1cd2 ef3gh4":       false, // a space
		"kubernetes12":        false,
		"release-2024-stable": false, // separators are not a class
		"a-1-b-2-c-3-d-4":     false,
	} {
		if got := random(value); got != want {
			t.Errorf("random(%q) = %t, want %t", value, got, want)
		}
	}
}

func TestParse_EndsValuesWhereShellsDo(t *testing.T) {
	for text, want := range map[string]string{
		`A="x\"y" # c`:           `A=x"y`,
		"A=\"x\\\"\nB=y\"":       "A=x\"\nB=y", // the quote is escaped: the value continues
		`A="x\\"` + "\nB=y":      "A=x\\|B=y",  // the backslash is
		`A='x\'` + "\nB=y":       "A=x\\|B=y",  // no escapes in single quotes
		"A=`x\\`\nB=y":           "A=x\\|B=y",
		`A="x` + "\n" + `y"`:     "A=x\ny",
		`A=x"y` + "\n" + `B="z"`: `A=x"y|B=z`,
		`A="x\ty\nz\r"`:          "A=x\ty\nz\r",
	} {
		var got []string
		for name, value := range parse(text) {
			got = append(got, name+"="+value)
		}
		if joined := strings.Join(got, "|"); joined != want {
			t.Errorf("%q gives %q, want %q", text, joined, want)
		}
	}
}
