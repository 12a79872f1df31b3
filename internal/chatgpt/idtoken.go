package chatgpt

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"strings"
	"time"
)

// discovery holds the members that are used from the issuer's discovery document.
type discovery struct {
	Issuer             string `json:"issuer"`
	JWKSURI            string `json:"jwks_uri"`
	RevocationEndpoint string `json:"revocation_endpoint"`
}

// discover reads the discovery document.
func (a *Account) discover(ctx context.Context) (d discovery, err error) {
	issuer := a.Service.withDefaults().Issuer
	if err := a.get(ctx, strings.TrimRight(issuer, "/")+"/.well-known/openid-configuration", &d); err != nil {
		return d, err
	}
	if strings.TrimRight(d.Issuer, "/") != strings.TrimRight(issuer, "/") {
		return d, fmt.Errorf("the discovery document of %s is for another issuer", issuer)
	}
	return d, nil
}

// trusts reports whether a URL has the same origin as the issuer.
func (d discovery) trusts(address string) bool {
	u, err := url.Parse(address)
	i, ierr := url.Parse(d.Issuer)
	return err == nil && ierr == nil && u.Host != "" && u.Scheme == i.Scheme && u.Host == i.Host
}

// claims holds the members that are used from an ID token.
type claims struct {
	Issuer   string          `json:"iss"`
	Subject  string          `json:"sub"`
	Audience json.RawMessage `json:"aud"` // a string or a list
	Party    string          `json:"azp"`
	Expires  float64         `json:"exp"`
	Nonce    string          `json:"nonce"`
	Email    string          `json:"email"`
}

// clockSkew is how much the clocks of both sides may differ.
const clockSkew = 5 * time.Minute

// identity verifies an ID token for a client.
func (a *Account) identity(ctx context.Context, token, client, nonce string) (c claims, err error) {
	d, err := a.discover(ctx)
	if err != nil {
		return c, err
	}
	if !d.trusts(d.JWKSURI) {
		return c, errors.New("the keys of the issuer are on another host")
	}
	var keys keySet
	if err := a.get(ctx, d.JWKSURI, &keys); err != nil {
		return c, err
	}
	payload, err := keys.verify(token)
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(payload, &c); err != nil {
		return c, errors.New("the ID token has no claims")
	}
	return c, c.check(strings.TrimRight(d.Issuer, "/"), client, nonce, a.time())
}

// check reports a token that is not for this sign-in.
func (c claims) check(issuer, client, nonce string, now time.Time) error {
	var audience []string
	if json.Unmarshal(c.Audience, &audience) != nil {
		audience = make([]string, 1)
		_ = json.Unmarshal(c.Audience, &audience[0])
	}
	switch {
	case strings.TrimRight(c.Issuer, "/") != issuer:
		return errors.New("the ID token is from another issuer")
	case !slices.Contains(audience, client) || len(audience) > 1 && c.Party != client:
		return errors.New("the ID token is for another client")
	case now.After(time.Unix(int64(c.Expires), 0).Add(clockSkew)):
		return errors.New("the ID token has expired; check the clock of this machine")
	case subtle.ConstantTimeCompare([]byte(c.Nonce), []byte(nonce)) != 1:
		return errors.New("the ID token is for another sign-in")
	case c.Subject == "":
		return errors.New("the ID token names no account")
	}
	return nil
}

// keySet holds an issuer's public keys.
type keySet struct {
	Keys []struct {
		Type string `json:"kty"`
		ID   string `json:"kid"`
		Use  string `json:"use"`
		N    string `json:"n"`
		E    string `json:"e"`
	} `json:"keys"`
}

// verify checks a JWT's RS256 signature and returns its payload.
func (s keySet) verify(token string) ([]byte, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil, errors.New("the ID token is not a JWT")
	}
	head, err1 := base64.RawURLEncoding.DecodeString(parts[0])
	payload, err2 := base64.RawURLEncoding.DecodeString(parts[1])
	signature, err3 := base64.RawURLEncoding.DecodeString(parts[2])
	var header struct {
		Algorithm string `json:"alg"`
		Key       string `json:"kid"`
	}
	if errors.Join(err1, err2, err3, json.Unmarshal(head, &header)) != nil {
		return nil, errors.New("the ID token is not a JWT")
	}
	if header.Algorithm != "RS256" {
		return nil, errors.New("the ID token is not signed with RS256")
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	for _, k := range s.Keys {
		if k.Type != "RSA" || k.Use != "" && k.Use != "sig" || header.Key != "" && k.ID != header.Key {
			continue
		}
		key, err := publicKey(k.N, k.E)
		if err == nil && rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature) == nil {
			return payload, nil
		}
	}
	return nil, errors.New("the signature of the ID token is wrong")
}

func publicKey(n, e string) (*rsa.PublicKey, error) {
	modulus, err1 := base64.RawURLEncoding.DecodeString(n)
	exponent, err2 := base64.RawURLEncoding.DecodeString(e)
	exponent = bytes.TrimLeft(exponent, "\x00")
	if err := errors.Join(err1, err2); err != nil || len(exponent) == 0 || len(exponent) > 4 {
		return nil, errors.New("not an RSA key")
	}
	return &rsa.PublicKey{N: new(big.Int).SetBytes(modulus), E: int(new(big.Int).SetBytes(exponent).Int64())}, nil
}
