package credential

import "testing"

func TestKey_OnlyItsProgramReadsIt(t *testing.T) {
	for file, want := range map[string]bool{
		"/home/u/.ssh/id_rsa": true, "/home/u/.ssh/id_ed25519": true, "/home/u/.ssh/work.pem": true, "/home/u/.ssh/keys/id_rsa": true,
		"/home/u/.ssh/id_rsa.pub": false, "/home/u/.ssh/config": false, "/home/u/.ssh/known_hosts": false, "/home/u/.ssh": false,
		"/home/u/.aws/credentials": true, "/home/u/.aws/config": false, "/home/u/.aws/sso/cache/x.json": true,
		"/home/u/.gnupg/private-keys-v1.d/x.key": true, "/home/u/.gnupg/pubring.kbx": false,
		"/home/u/.config/gcloud/application_default_credentials.json": true, "/home/u/.config/gcloud/configurations/c": false,
		"/home/u/project/server.pem": false, "/home/u/project/.ssh/id_rsa": false, "/home/u2/.ssh/id_rsa": false, "/home/u/id_rsa": false,
		"/etc/ssh/ssh_host_ed25519_key": true, "/etc/ssh/sshd_config": false, "/etc/ssl/private/a/b.key": true, "/etc/shadow": false,
		"/etc/passwd": false, "/etc/ssl/certs/ca.pem": false, "/": false, "": false,
	} {
		if got := Key("/home/u", file, false); got != want {
			t.Errorf("%s: got %v, want %v", file, got, want)
		}
	}
	for dir, want := range map[string]bool{
		"/home/u/.ssh": true, "/home/u/.ssh/keys": false, "/home/u/.aws": true, "/home/u/.gnupg/private-keys-v1.d": true, "/etc/ssh": true,
		"/home/u": false, "/": false, "/etc": false, "/home/u/.config": false, "/home/u/project": false,
	} {
		if got := Key("/home/u", dir, true); got != want {
			t.Errorf("all of %s: got %v, want %v", dir, got, want)
		}
	}
}
