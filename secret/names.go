package secret

import (
	"net/url"
	"slices"
	"strings"

	"github.com/reins-agent/reins/internal/lazy"
)

// secretName matches names of variables and fields that hold secrets, in upper case with words separated by _.
var secretName = lazy.Regexp(`(^|_)(` +
	`API_?KEYS?|APP_?KEY|ACCESS_?KEY(_ID)?|SECRET_?KEY|PRIVATE_?KEY|SIGNING_?KEY|ENCRYPTION_?KEY|MASTER_?KEY|SSH_?KEY|` +
	`AUTH_?KEY|LICENSE_?KEY|ACCOUNT_?KEY|KEY|KEYS|` +
	`[A-Z0-9]*SECRETS?|[A-Z0-9]*TOKENS?|[A-Z0-9]*PASSWORDS?|[A-Z0-9]*PASSWD|PASSPHRASE|[A-Z0-9]*PASS|PASSCODE|PWD|PW|PIN|` +
	`CREDENTIALS?|CREDS?|AUTH|AUTHORIZATION|PAT|JWT|BEARER|COOKIE|SALT|PEPPER|SEED|MNEMONIC|CERT|PEM|HMAC|SIGNATURE|` +
	`DSN|DATABASE_?URL|DB_?URL|REDIS_?URL|MONGO(DB)?_?UR[IL]|POSTGRES(QL)?_?UR[IL]|AMQP_?URL|CONNECTION_?STRING|CONN_?STR|` +
	`WEBHOOK(_URL)?|SAS` +
	`)(_(VALUE|ID|B64|BASE64|PROD|PRODUCTION|DEV|STAGING|TEST|LIVE|BEDROCK|\d+))*$`)

var camel = lazy.Regexp(`([a-z0-9])([A-Z])`)

var separators = strings.NewReplacer("-", "_", ".", "_", " ", "_")

// notSecret lists names that match secretName but hold no secrets.
var notSecret = []string{"PWD", "OLDPWD", "INIT_CWD", "SSH_AUTH_SOCK", "GPG_KEY"}

// Name reports whether a variable or field name suggests a secret value.
func Name(name string) bool {
	upper := strings.ToUpper(camel().ReplaceAllString(name, "${1}_${2}"))
	upper = separators.Replace(upper)
	return secretName().MatchString(upper) && !slices.Contains(notSecret, upper)
}

// minValue is the shortest value length that is redacted.
const minValue = 8

// maxValue is the longest value compared in full; longer values are compared by prefix.
const maxValue = 4096

// trust tells how strongly a variable name suggests a secret value.
type trust int

const (
	anyName    trust = iota // the value must look random
	weakName                // the value must not look like a word
	strongName              // the value is secret unless it is common
)

// weak matches secret names that often have harmless values, such as SORT_KEY.
var weak = lazy.Regexp(`(?i)(^|[_.-])(KEYS?|AUTH|PIN|PASS|CERT|SEED|SALT|PEPPER|SIGNATURE|COOKIE|ID|SAS|TEST|DEV)$`)

var plainWord = lazy.Regexp(`^([a-z]+|[A-Z]+|[A-Z][a-z]+)([_.:/ -]([a-z]+|[A-Z]+|[A-Z][a-z]+))*$`)

// secretValues returns the texts to redact for a variable: its value, each line if it has several, the password if it
// is a URL, and its encoded forms in JSON and URLs.
func secretValues(value string, name trust) (list []string) {
	add := func(v string, name trust) {
		v = strings.Trim(strings.TrimSpace(v), "\"'")
		v = v[:min(len(v), maxValue)]
		if len(v) < minValue || ordinary(v) || name == weakName && plainWord().MatchString(v) || name == anyName && !random(v) {
			return
		}
		list = append(list, v)
		for _, form := range []string{url.QueryEscape(v), quoted(v)} {
			if form != v {
				list = append(list, form)
			}
		}
	}
	if u, err := url.Parse(strings.TrimSpace(value)); err == nil && u.Scheme != "" && u.Host != "" {
		password, set := u.User.Password()
		switch {
		case set && password != "" && !ordinary(password):
			add(value, strongName)
			add(password, strongName)
		case name > anyName && (u.RawQuery != "" || slices.ContainsFunc(strings.FieldsFunc(u.Path, slash), random)):
			add(value, strongName) // such as a webhook
		}
		return list
	}
	add(value, name)
	if lines := strings.Fields(value); len(lines) > 1 {
		for _, line := range lines {
			if len(line) >= 2*minValue {
				add(line, anyName)
			}
		}
	}
	return list
}

// quoted returns text as it appears between the quotes in a JSON string.
func quoted(v string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(v)
}

// commonValues are values that occur in ordinary text.
var commonValues = []string{
	"password", "passw0rd", "password1", "password123", "changeme", "change-me", "changeit", "undefined", "secret123",
	"postgres", "postgresql", "mongodb", "rabbitmq",
	"localhost", "development", "production", "staging", "testing", "example", "disabled", "enabled", "default", "required",
	"optional", "internal", "username", "administrator", "redacted", "your-key-here", "your_api_key", "your-api-key",
	"placeholder", "supersecret",
	"anonymous", "certificate", "unlimited", "truncated", "sha256", "HS256", "RS256", "application", "database", "configuration",
}

var (
	plainNumber = lazy.Regexp(`^[-+]?[\d.,:_/ T-]+Z?$`)
	plainPath   = lazy.Regexp(`^(~|\.{1,2}|[A-Za-z]:)?([/\\][^/\\:]*)+(:([/\\][^/\\:]*)+)*$`)
	variable    = lazy.Regexp(`^(\$\{?\w+\}?|\$\(.*\)|\{\{.*\}\}|<[^>]*>|%\w+%|\*+|x+|X+|\.+)$`)
)

// ordinary reports whether a value occurs in ordinary text: a common word, a number, a path or a reference.
func ordinary(v string) bool {
	return slices.ContainsFunc(commonValues, func(c string) bool { return strings.EqualFold(c, v) }) ||
		plainNumber().MatchString(v) || variable().MatchString(v) || strings.Contains(v, "[redacted:") ||
		strings.Count(v, v[:min(1, len(v))]) == len(v) ||
		plainPath().MatchString(v) && !slices.ContainsFunc(strings.FieldsFunc(v, slash), random)
}

func slash(c rune) bool { return c == '/' || c == '\\' || c == ':' }

// random reports whether a value looks generated: long enough, without spaces, and with letters and digits that are not
// just a word followed by a number.
func random(v string) bool {
	if len(v) < 12 || strings.ContainsAny(v, " \t\n") {
		return false
	}
	digits, changes := 0, 0
	last := byte(0)
	for i := range len(v) {
		class := classOf(v[i])
		if class == '0' {
			digits++
		}
		if i > 0 && class != last && class != 0 && last != 0 {
			changes++
		}
		last = class
	}
	return changes >= 4 && digits > 0
}

// classOf returns the class of a letter or digit, or 0.
func classOf(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return '0'
	case 'a' <= c && c <= 'z':
		return 'a'
	case 'A' <= c && c <= 'Z':
		return 'A'
	}
	return 0
}
