package secret

import (
	"bytes"
	"strings"
)

// set is a set of bytes.
type set [256]bool

// setOf returns a set from single bytes and ranges such as a-z. A - at the end stands for itself.
func setOf(spec string) *set {
	var s set
	for i := 0; i < len(spec); i++ {
		if i+2 < len(spec) && spec[i+1] == '-' {
			for c := int(spec[i]); c <= int(spec[i+2]); c++ {
				s[c] = true
			}
			i += 2
			continue
		}
		s[spec[i]] = true
	}
	return &s
}

var (
	word   = setOf("A-Za-z0-9_")
	alnum  = setOf("A-Za-z0-9")
	upper  = setOf("A-Z0-9")
	hex    = setOf("a-f0-9")
	dashed = setOf("A-Za-z0-9_-")
	dotted = setOf("A-Za-z0-9_.-")
	base64 = setOf("A-Za-z0-9+/=_.~-")
	query  = setOf("A-Za-z0-9%+_.~-")
	space  = setOf(" \t")
)

// verdict is a rule's decision on the text at an anchor.
type verdict int

const (
	no   verdict = iota
	more         // needs more text to decide
	yes
)

// match is a secret, as a range relative to where its anchor begins. All following bytes that are in tail belong to it
// too; pem stands for the rest of a private key.
type match struct {
	from, to int
	tail     *set
}

// pem stands for a private key's tail.
var pem = new(set)

// rule finds secrets that begin with, or follow, one of its anchors.
type rule struct {
	kind    string
	anchors []string
	fold    bool // ignore the case of anchors
	inside  bool // an anchor may follow a letter or a digit
	// find examines the text from an anchor of n bytes on. Unless all is set, more text may follow, and find may ask
	// for it up to a limit.
	find func(b []byte, n int, all bool) (match, verdict)
}

// key returns a rule for keys: a prefix, then at least (or exactly) least bytes in body.
func key(kind string, body *set, least int, exact bool, anchors ...string) rule {
	return rule{kind: kind, anchors: anchors, find: func(b []byte, n int, all bool) (match, verdict) {
		end := run(b, n, body, least+1)
		switch {
		case end-n < least && end == len(b) && !all, exact && end-n == least && end == len(b) && !all:
			return match{}, more
		case end-n < least, exact && end-n > least:
			return match{}, no
		case exact:
			return match{to: end}, yes
		}
		return match{to: end, tail: body}, yes
	}}
}

// run returns the end of a run of bytes in s that begins at i, at most limit bytes later.
func run(b []byte, i int, s *set, limit int) int {
	for end := min(len(b), i+limit); i < end && s[b[i]]; {
		i++
	}
	return i
}

// rulesOfShapes returns the rules for known shapes. A rule precedes rules with a shorter prefix.
func rulesOfShapes() []rule {
	return []rule{
		{kind: "private-key", anchors: []string{"-----BEGIN "}, inside: true, find: findPrivateKey},
		key("anthropic-key", dashed, 20, false, "sk-ant-"),
		key("openai-key", dashed, 20, false, "sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"),
		key("openrouter-key", alnum, 32, false, "sk-or-v1-"),
		key("api-key", alnum, 32, false, "sk-"),
		key("google-key", dashed, 35, false, "AIza"),
		key("google-oauth", dashed, 24, false, "GOCSPX-", "ya29."),
		key("aws-key-id", upper, 16, true, "AKIA", "ASIA", "ABIA", "ACCA"),
		key("github-token", alnum, 36, false, "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
		key("github-token", word, 36, false, "github_pat_"),
		key("gitlab-token", dotted, 20, false, "glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "gloas-", "glft-", "glsoat-"),
		key("slack-token", dashed, 10, false, "xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxo-", "xoxe-", "xoxe.xox", "xapp-"),
		{
			kind:    "slack-webhook",
			anchors: []string{"hooks.slack.com/services/", "hooks.slack.com/workflows/"},
			find:    after(setOf("A-Za-z0-9/_-"), 20, nil),
		},
		key("stripe-key", alnum, 16, false, "sk_live_", "rk_live_", "sk_test_", "rk_test_", "sk_prod_", "whsec_"),
		key("npm-token", alnum, 36, false, "npm_"),
		key("pypi-token", dashed, 40, false, "pypi-AgE"),
		key("huggingface-token", alnum, 30, false, "hf_", "api_org_"),
		key("sendgrid-key", dotted, 60, false, "SG."),
		key("digitalocean-token", hex, 60, false, "dop_v1_", "doo_v1_", "dor_v1_"),
		key("shopify-token", hex, 32, false, "shpat_", "shpca_", "shppa_", "shpss_"),
		key("databricks-token", hex, 32, false, "dapi"),
		key("docker-token", dashed, 27, false, "dckr_pat_", "dckr_oat_"),
		key("atlassian-token", setOf("A-Za-z0-9_=-"), 60, false, "ATATT3", "ATCTT3"),
		key("linear-key", alnum, 32, false, "lin_api_", "lin_oauth_"),
		key("notion-token", alnum, 40, false, "ntn_", "secret_"),
		key("vault-token", dashed, 24, false, "hvs.", "hvb."),
		key("terraform-token", dotted, 60, false, "atlasv1."),
		key("grafana-token", setOf("A-Za-z0-9_+/="), 32, false, "glsa_", "glc_"),
		key("groq-key", alnum, 40, false, "gsk_"),
		key("xai-key", alnum, 60, false, "xai-"),
		key("replicate-token", alnum, 37, false, "r8_"),
		key("perplexity-key", alnum, 40, false, "pplx-"),
		key("age-key", upper, 50, false, "AGE-SECRET-KEY-1"),
		{kind: "jwt", anchors: []string{"eyJ"}, find: findJWT},
		{
			kind: "authorization",
			anchors: []string{
				"authorization", "x-api-key", "x-goog-api-key", "api-key", "private-token", "x-auth-token", "x-vault-token",
			},
			fold:   true,
			inside: true,
			find:   findHeader,
		},
		{kind: "bearer", anchors: []string{"bearer "}, fold: true, find: after(base64, 20, hasDigit)},
		{kind: "url-password", anchors: []string{"://"}, inside: true, find: findPassword},
		{
			kind:    "query",
			anchors: queryAnchors(),
			fold:    true,
			inside:  true,
			find:    after(query, 8, looksMade),
		},
		{
			kind:    "query",
			anchors: []string{"?key=", "&key=", "?auth=", "&auth=", "?token=", "&token="},
			fold:    true,
			inside:  true,
			find:    after(query, 16, hasDigit),
		},
		{kind: "assignment", anchors: []string{
			"SECRET", "SECRET_KEY", "_TOKEN", "PASSWORD", "_PASSWD", "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY", "_CREDENTIALS",
		}, inside: true, find: findAssignment},
		{
			kind:    "assignment",
			anchors: []string{"secret_access_key", "aws_session_token", "_authtoken", "client_secret"},
			fold:    true,
			inside:  true,
			find:    findAssignment,
		},
	}
}

// queryAnchors returns URL parameters that hold secrets.
func queryAnchors() (list []string) {
	for _, name := range strings.Fields(`api_key apikey api-key access_key access_token auth_token refresh_token id_token
		client_secret secret password passwd pwd sig signature x-amz-signature x-amz-security-token x-goog-signature`) {
		list = append(list, "?"+name+"=", "&"+name+"=")
	}
	return list
}

// after returns a function that finds a value of at least least bytes after the anchor. check, if not nil, must accept
// these bytes.
func after(body *set, least int, check func([]byte) bool) func(b []byte, n int, all bool) (match, verdict) {
	return func(b []byte, n int, all bool) (match, verdict) { return value(b, n, body, least, all, check) }
}

func value(b []byte, at int, body *set, least int, all bool, check func([]byte) bool) (match, verdict) {
	switch end := run(b, at, body, least); {
	case end-at < least && end == len(b) && !all:
		return match{}, more
	case end-at < least, check != nil && !check(b[at:end]):
		return match{}, no
	default:
		return match{from: at, to: end, tail: body}, yes
	}
}

func hasDigit(b []byte) bool {
	return bytes.ContainsFunc(b, func(c rune) bool { return classOf(byte(c)) == '0' }) &&
		bytes.ContainsFunc(b, func(c rune) bool { return classOf(byte(c)) > '0' })
}

// looksMade reports whether a value is neither a word nor a placeholder such as YOUR_TOKEN.
func looksMade(b []byte) bool {
	lower := bytes.ContainsFunc(b, func(c rune) bool { return classOf(byte(c)) == 'a' })
	upper := bytes.ContainsFunc(b[1:], func(c rune) bool { return classOf(byte(c)) == 'A' })
	return lower && upper || hasDigit(b)
}

// findJWT finds a JSON web token: two or three base64 parts, of which the first two begin with eyJ.
func findJWT(b []byte, n int, all bool) (match, verdict) {
	const limit = 2048
	dot := run(b, n, dashed, limit)
	switch rest := b[dot:]; {
	case dot-n < limit && len(rest) < 4 && bytes.HasPrefix([]byte(".eyJ"), rest) && !all:
		return match{}, more
	case dot-n >= 10 && bytes.HasPrefix(rest, []byte(".eyJ")):
		return match{to: dot + 4, tail: dotted}, yes
	}
	return match{}, no
}

// findHeader finds the value in a header such as Authorization, with or without a scheme.
func findHeader(b []byte, n int, all bool) (match, verdict) {
	at, v := separator(b, n, all)
	if v != yes {
		return match{}, v
	}
	for _, scheme := range []string{"bearer ", "basic ", "token ", "apikey "} {
		switch has(b[at:], scheme, true, all) {
		case more:
			return match{}, more
		case yes:
			return value(b, at+len(scheme), base64, 8, all, looksMade)
		}
	}
	return value(b, at, base64, 16, all, hasDigit)
}

// findAssignment finds the value in NAME=value, NAME: "value" and similar forms.
func findAssignment(b []byte, n int, all bool) (match, verdict) {
	at, v := separator(b, n, all)
	if v != yes {
		return match{}, v
	}
	return value(b, at, base64, 16, all, hasDigit)
}

// separator returns where the value begins for the name that ends at i, if one follows.
func separator(b []byte, i int, all bool) (at int, v verdict) {
	const limit = 12
	for at = i; at < len(b) && at-i < limit; at++ {
		switch c := b[at]; {
		case c == '=' || c == ':':
			v = yes
		case c != ' ' && c != '\t' && c != '"' && c != '\'' && c != '\\' && c != '>':
			return at, v
		}
	}
	if at == len(b) && at-i < limit && !all {
		return at, more
	}
	return at, v
}

// findPassword finds the password in a URL such as https://user:password@host.
func findPassword(b []byte, n int, all bool) (match, verdict) {
	const limit = 256
	colon := -1
	for i := n; i < len(b); i++ {
		switch c := b[i]; {
		case i-n > limit, space[c], bytes.IndexByte([]byte("/?#\"'<>`\n\r[{$"), c) >= 0:
			return match{}, no
		case c == ':' && colon < 0:
			colon = i
		case c == '@':
			if colon < 0 || colon+1 == i || ordinary(string(b[colon+1:i])) {
				return match{}, no
			}
			return match{from: colon + 1, to: i}, yes
		}
	}
	if all || len(b)-n > limit {
		return match{}, no
	}
	return match{}, more
}

// pemStart is what may stand between the first line of a key and the next: escapes, quotes and line numbers.
var pemStart = setOf(" \t\r\n\\nr\"'+,0-9|:→")

// findPrivateKey finds a private key in PEM, also on one line with \n in it.
func findPrivateKey(b []byte, n int, all bool) (match, verdict) {
	const longest = len("ENCRYPTED PRIVATE KEY BLOCK-----")
	head := b[n:min(len(b), n+longest)]
	end := bytes.Index(head, []byte("-----"))
	if end < 0 {
		if !all && len(head) < longest {
			return match{}, more
		}
		return match{}, no
	}
	if !bytes.Contains(head[:end], []byte("PRIVATE KEY")) {
		return match{}, no
	}
	at := n + end + 5
	skip := run(b, at, pemStart, 24)
	body := run(b, skip, pemBody, 9)
	switch {
	case body-skip >= 9:
		return match{to: body, tail: pem}, yes
	case body == len(b) && !all:
		return match{}, more
	}
	return match{}, no
}
