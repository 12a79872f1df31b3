// Package credential lists the files that hold the user's credentials and private data.
package credential

import (
	"bytes"
	"maps"
	"slices"
	"strings"
)

// inHome are, with "~" for a space, files and directories in a home directory that hold credentials or private data:
// keys, tokens for clouds, package registries and agents, password stores, browser profiles and shell histories.
var inHome = strings.Fields(`
	.ssh .gnupg .netrc _netrc .git-credentials .config/git/credentials .config/gh .config/glab-cli .config/hub
	.aws .azure .kube .config/gcloud .config/doctl .oci .aliyun .bluemix .config/configstore .config/heroku .boto .s3cfg
	.config/rclone .config/linode-cli .config/scw .config/flyctl .fly .vercel .config/netlify .terraform.d/credentials.tfrc.json
	.terraformrc .vault-token .pulumi/credentials.json .config/sops .docker/config.json .config/containers/auth.json
	.pypirc .cargo/credentials .cargo/credentials.toml .gem/credentials .m2/settings.xml .m2/settings-security.xml
	.gradle/gradle.properties .composer/auth.json .config/composer/auth.json .nuget/NuGet/NuGet.Config .config/NuGet
	.hex/hex.config .pub-cache/credentials.json .config/pip/pip.conf .pip/pip.conf
	.huggingface/token .cache/huggingface/token .kaggle/kaggle.json .config/wandb .databrickscfg .snowsql .dbt/profiles.yml
	.pgpass .my.cnf .mylogin.cnf .config/psql .mongorc.js .rediscli_auth
	.claude/.credentials.json .claude.json .codex/auth.json .gemini/oauth_creds.json .local/share/opencode/auth.json
	.config/github-copilot .config/Cursor .config/op .password-store .local/share/keyrings .local/share/kwalletd
	.config/keepassxc .config/Bitwarden .config/1Password .electrum .bitcoin .ethereum/keystore .config/solana
	.mozilla .thunderbird .config/google-chrome .config/chromium .config/BraveSoftware .config/microsoft-edge .config/vivaldi
	.config/opera .config/Signal .config/Slack .config/discord snap/firefox snap/chromium .var/app/org.mozilla.firefox
	Library/Keychains Library/Cookies Library/Safari Library/Messages Library/Mail Library/Application~Support/Google/Chrome
	Library/Application~Support/Firefox
	.bash_history .zsh_history .local/share/fish/fish_history .python_history .node_repl_history .psql_history .mysql_history
	.sqlite_history .lesshst .viminfo`)

// withTokens are configuration files that hold credentials only sometimes, and the words that they then contain.
var withTokens = map[string][]string{
	".npmrc":      {"_auth", "_password"},
	".yarnrc":     {"_auth", "_password"},
	".yarnrc.yml": {"AuthToken", "AuthIdent"},
	".condarc":    {"token", "://"},
	".curlrc":     {"user", "header", "oauth"},
	".wgetrc":     {"password", "header"},
}

// ofSystem are credential files outside home directories. Only root can read them.
var ofSystem = strings.Fields(`/etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/sudoers /etc/sudoers.d /etc/ssl/private
	/etc/ppp/chap-secrets /etc/ppp/pap-secrets /etc/NetworkManager/system-connections /etc/wireguard /etc/krb5.keytab
	/etc/ssh/ssh_host_rsa_key /etc/ssh/ssh_host_ecdsa_key /etc/ssh/ssh_host_ed25519_key /var/lib/NetworkManager/secret_key
	/run/secrets /var/run/secrets/kubernetes.io /etc/docker/key.json /etc/kubernetes /etc/rancher /var/lib/kubelet/pki`)

// Files returns the files and directories with credentials in the system's directories and, unless home is "", in a
// home directory. They may not exist.
func Files(home string) []string {
	list := slices.Clone(ofSystem)
	if home == "" {
		return list
	}
	return append(list, InHome(home)...)
}

// InHome returns the files and directories in a home directory that hold credentials. They may not exist.
func InHome(home string) []string {
	list := make([]string, 0, len(inHome))
	for _, name := range inHome {
		list = append(list, home+"/"+strings.ReplaceAll(name, "~", " "))
	}
	return list
}

// Settings returns the names of files in a home directory whose content decides whether they hold credentials: see
// HoldsToken.
func Settings() []string { return slices.Sorted(maps.Keys(withTokens)) }

// HoldsToken reports whether a Settings file with this content holds credentials.
func HoldsToken(name string, content []byte) bool {
	return slices.ContainsFunc(withTokens[name], func(w string) bool { return bytes.Contains(content, []byte(w)) })
}
