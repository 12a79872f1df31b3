package bedrock

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

// example is the user in the examples of AWS.
var example = Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}

// TestSign_AgreesWithTheDocumentedExamples checks signatures from AWS documentation and its test suite. Package
// llm/oracletest compares the signer with the AWS SDK.
func TestSign_AgreesWithTheDocumentedExamples(t *testing.T) {
	for _, tt := range []struct {
		name, method, url, contentType, body, region, service, signed, signature string
	}{
		{"IAM ListUsers", "GET", "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08", "application/x-www-form-urlencoded; charset=utf-8", "",
			"us-east-1", "iam", "content-type;host;x-amz-date", "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"},
		{"get-vanilla", "GET", "https://example.amazonaws.com/", "", "",
			"us-east-1", "service", "host;x-amz-date", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		{"post-vanilla", "POST", "https://example.amazonaws.com/", "", "",
			"us-east-1", "service", "host;x-amz-date", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
		{"post-x-www-form-urlencoded", "POST", "https://example.amazonaws.com/", "application/x-www-form-urlencoded", "Param1=value1",
			"us-east-1", "service", "content-type;host;x-amz-date", "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
	} {
		r, err := http.NewRequest(tt.method, tt.url, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		if tt.contentType != "" {
			r.Header.Set("Content-Type", tt.contentType)
		}
		sign(r, []byte(tt.body), example, tt.region, tt.service, time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC))
		want := "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/" + tt.region + "/" + tt.service + "/aws4_request, SignedHeaders=" + tt.signed + ", Signature=" + tt.signature
		if got := r.Header.Get("Authorization"); got != want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, want)
		}
	}
}

func TestSign_PathsAreEncodedTwice(t *testing.T) {
	r, err := http.NewRequest("POST", "https://h/model/us.x-v1%3A0/invoke", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := canonicalRequest(r, nil); !strings.HasPrefix(got, "POST\n/model/us.x-v1%253A0/invoke\n\nhost:h\n\nhost\n") {
		t.Errorf("got %q", got)
	}
}

func TestSign_SignsTheSessionToken(t *testing.T) {
	r, err := http.NewRequest("POST", "https://h/", nil)
	if err != nil {
		t.Fatal(err)
	}
	c := example
	c.SessionToken = "token"
	if err := Sign("eu-west-1", func(context.Context) (Credentials, error) { return c, nil })(r, nil); err != nil {
		t.Fatal(err)
	}
	got := r.Header.Get("Authorization")
	if r.Header.Get("X-Amz-Security-Token") != "token" || !strings.Contains(got, "SignedHeaders=host;x-amz-date;x-amz-security-token,") || !strings.Contains(got, "/eu-west-1/bedrock/") {
		t.Errorf("the headers are %v", r.Header)
	}
}

func TestSign_WithoutCredentialsNothingIsSigned(t *testing.T) {
	r, err := http.NewRequest("POST", "https://h/", nil)
	if err != nil {
		t.Fatal(err)
	}
	none := errors.New("none")
	if err := Sign("eu-west-1", func(context.Context) (Credentials, error) { return example, none })(r, nil); !errors.Is(err, none) || len(r.Header) > 0 {
		t.Errorf("got %v and the headers %v", err, r.Header)
	}
}
