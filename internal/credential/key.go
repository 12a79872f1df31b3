package credential

import (
	"path"
	"slices"
	"strings"
)

// keysInHome are, as patterns, files and directories in a home directory with keys that only their own program needs to
// read: private keys, and cloud sign-ins.
var keysInHome = strings.Fields(`
	.ssh/id_* .ssh/identity .ssh/*.pem .ssh/*.key .ssh/*.ppk .ssh/*_rsa .ssh/*_ed25519 .ssh/*_ecdsa .ssh/*_dsa
	.ssh/*/id_* .ssh/*/*.pem .ssh/*/*.key
	.gnupg/private-keys-v1.d .gnupg/secring.gpg
	.aws/credentials .aws/sso/cache .aws/cli/cache
	.azure/accesstokens.json .azure/msal_token_cache.* .azure/service_principal_entries.*
	.config/gcloud/credentials.db .config/gcloud/access_tokens.db .config/gcloud/application_default_credentials.json
	.config/gcloud/legacy_credentials .oci/*.pem .aliyun/config.json .config/doctl/config.yaml .vault-token
	.ethereum/keystore .config/solana/id.json .bitcoin/wallet.dat .electrum/wallets`)

// keysOfSystem are key files outside home directories.
var keysOfSystem = strings.Fields(`/etc/ssh/ssh_host_*_key /etc/ssl/private
	/etc/pki/tls/private /etc/letsencrypt/live/*/privkey*.pem /etc/letsencrypt/archive/*/privkey*.pem /etc/letsencrypt/keys
	/etc/wireguard /etc/krb5.keytab /etc/kubernetes/pki/*.key /run/secrets/kubernetes.io /var/run/secrets/kubernetes.io`)

// Key reports whether a file is a private key, or signs in to a cloud. If whole is set, path is a directory of which
// everything is read, and Key reports whether it has such files directly in it. Both paths are in lower case, with
// slashes; home may be empty.
func Key(home, file string, whole bool) bool {
	if strings.HasSuffix(file, ".pub") {
		return false
	}
	match := func(pattern string) bool {
		if whole && file == path.Dir(pattern) && !slices.Contains([]string{"/etc", ".config", "."}, file) {
			return true
		}
		for p := file; p != "." && p != "/" && strings.Count(p, "/") >= strings.Count(pattern, "/"); p = path.Dir(p) {
			if ok, _ := path.Match(pattern, p); ok {
				return true
			}
		}
		return false
	}
	if slices.ContainsFunc(keysOfSystem, match) {
		return true
	}
	rest, ok := strings.CutPrefix(file, strings.TrimSuffix(home, "/")+"/")
	if file = rest; !ok || home == "" {
		return false
	}
	return slices.ContainsFunc(keysInHome, match)
}
