package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/reins-agent/reins/llm"
)

// message encodes an event stream message. Headers are alternating names and values.
func message(payload string, headers ...string) []byte {
	var head []byte
	for i := 0; i < len(headers); i += 2 {
		head = append(head, byte(len(headers[i])))
		head = append(head, headers[i]...)
		head = append(head, 7)
		head = binary.BigEndian.AppendUint16(head, uint16(len(headers[i+1])))
		head = append(head, headers[i+1]...)
	}
	return rawMessage(head, payload)
}

func rawMessage(head []byte, payload string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(16+len(head)+len(payload)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(head)))
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	b = append(append(b, head...), payload...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

func event(name, payload string) []byte {
	return message(payload, ":event-type", name, ":content-type", "application/json", ":message-type", "event")
}

func streamed(r io.Reader, limit int) (list []sent, err error) {
	s := &eventStream{r: r, max: limit}
	for {
		ev, err := s.next()
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		list = append(list, sent{string(ev.Name), string(ev.Data), ev.Cut})
	}
}

func TestEventStream_SplitsMessagesAndUnwrapsChunks(t *testing.T) {
	inner := base64.StdEncoding.EncodeToString([]byte(`{"type":"ping"}`))
	in := bytes.Join([][]byte{event("messageStart", `{"role":"assistant"}`), event("chunk", `{"bytes":"`+inner+`","p":"abc"}`), event("empty", "")}, nil)
	want := []sent{{"messageStart", `{"role":"assistant"}`, false}, {"", `{"type":"ping"}`, false}, {"empty", "", false}}
	for name, r := range map[string]io.Reader{"whole": bytes.NewReader(in), "by byte": iotest.OneByteReader(bytes.NewReader(in))} {
		if got, err := streamed(r, 1<<20); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, %v; want %v", name, got, err, want)
		}
	}
}

func TestEventStream_SkipsHeadersOfEveryType(t *testing.T) {
	var head []byte
	for kind, size := range headerSizes {
		head = append(head, 1, 'x', byte(kind))
		if size < 0 {
			head = append(head, 0, 3)
			size = 3
		}
		head = append(head, make([]byte, size)...)
	}
	head = append(head, event("named", "")[12:]...)
	head = head[:len(head)-4] // without the checksum
	got, err := streamed(bytes.NewReader(rawMessage(head, "payload")), 1<<20)
	if err != nil || len(got) != 1 || got[0].name != "named" || got[0].data != "payload" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestEventStream_EveryCutIsAnErrorUnlessItIsBetweenMessages(t *testing.T) {
	one := event("a", "1")
	in := append(one[:len(one):len(one)], event("b", "2")...)
	for n := range in {
		_, err := streamed(bytes.NewReader(in[:n]), 1<<20)
		if between := n == 0 || n == len(one); between != (err == nil) || !between && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut after %d of %d bytes: got %v", n, len(in), err)
		}
	}
}

func TestEventStream_EveryChangedByteIsDetected(t *testing.T) {
	in := event("messageStop", `{"stopReason":"end_turn"}`)
	for i := range in {
		bad := bytes.Clone(in)
		bad[i] ^= 0x20
		if got, err := streamed(bytes.NewReader(bad), 1<<30); err == nil {
			t.Errorf("byte %d changed: got %v, want an error", i, got)
		}
	}
}

func TestEventStream_RefusesWrongMessages(t *testing.T) {
	checked := func(b []byte) []byte { return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)) }
	short := checked([]byte{0, 0, 0, 20, 0, 0, 0, 5})
	prelude := event("a", "1")
	prelude[8]++
	for name, in := range map[string][]byte{
		"headers longer than the message": checked(append(short, 1, 2, 3, 4)),
		"wrong checksum of the prelude":   checked(prelude[:len(prelude)-4]),
		"unknown header type":             rawMessage([]byte{1, 'x', 10}, ""),
		"truncated header name":           rawMessage([]byte{9, 'x'}, ""),
		"truncated header value":          rawMessage([]byte{1, 'x', 7, 0, 9, 'a'}, ""),
		"truncated header length":         rawMessage([]byte{1, 'x', 7, 0}, ""),
		"no message type":                 message("{}", ":event-type", "x"),
		"chunk without JSON":              event("chunk", "x"),
		"chunk without base64":            event("chunk", `{"bytes":"?"}`),
	} {
		if got, err := streamed(bytes.NewReader(in), 1<<20); llm.KindOf(err) != llm.ErrMalformed {
			t.Errorf("%s: got %v, %v; want a malformed response", name, got, err)
		}
	}
	huge := checked([]byte{0x80, 0, 0, 0, 0, 0, 0, 0})
	if _, err := streamed(bytes.NewReader(huge), 1<<20); !errors.Is(err, errTooLarge) {
		t.Errorf("a message of 2 GiB: got %v, want an error about the limit", err)
	}
}

func TestEventStream_ExceptionsAreTypedErrors(t *testing.T) {
	for _, tt := range []struct {
		code, payload string
		kind          llm.ErrorKind
		retryable     bool
	}{
		{"throttlingException", `{"message":"Too many tokens, please wait"}`, llm.ErrRateLimit, true},
		{"internalServerException", `{"message":"oops"}`, llm.ErrServer, true},
		{"modelStreamErrorException", `{"message":"oops","originalStatusCode":400}`, llm.ErrServer, true},
		{"serviceUnavailableException", `{}`, llm.ErrServer, true},
		{"modelTimeoutException", `{"message":"slow"}`, llm.ErrTimeout, true},
		{"validationException", `{"message":"bad"}`, llm.ErrInvalidRequest, false},
		{"validationException", `{"message":"Input is too long for requested model."}`, llm.ErrContextLength, false},
		{"newException", `{"message":"new"}`, llm.ErrUnknown, false},
	} {
		in := message(tt.payload, ":exception-type", tt.code, ":content-type", "application/json", ":message-type", "exception")
		_, err := streamed(bytes.NewReader(in), 1<<20)
		e, ok := errors.AsType[*llm.Error](err)
		if !ok || e.Kind != tt.kind || e.Retryable() != tt.retryable || e.Code != tt.code || e.Message == "" {
			t.Errorf("%s %s: got %+v, want kind %s", tt.code, tt.payload, e, tt.kind)
		}
	}
	in := message("", ":error-code", "InternalFailure", ":error-message", "it broke", ":message-type", "error")
	if _, err := streamed(bytes.NewReader(in), 1<<20); llm.KindOf(err) != llm.ErrServer || !strings.Contains(err.Error(), "it broke") {
		t.Errorf("an error message: got %v", err)
	}
}

func TestHTTPError_ReadsTheAWSErrorType(t *testing.T) {
	for _, tt := range []struct {
		status     int
		code, body string
		kind       llm.ErrorKind
	}{
		{403, "ExpiredTokenException:http://internal.amazon.com/", `{"message":"The security token included in the request is expired"}`, llm.ErrAuthentication},
		{403, "UnrecognizedClientException", `{"message":"The security token included in the request is invalid."}`, llm.ErrAuthentication},
		{403, "InvalidSignatureException", `{"message":"The request signature we calculated does not match"}`, llm.ErrAuthentication},
		{403, "AccessDeniedException", `{"Message":"User is not authorized to perform: bedrock:InvokeModel"}`, llm.ErrAccessDenied},
		{429, "ThrottlingException", `{"message":"Too many requests"}`, llm.ErrRateLimit},
		{400, "ServiceQuotaExceededException", `{"message":"Your request exceeds the service quota"}`, llm.ErrQuota},
		{400, "ValidationException", `{"message":"The provided model identifier is invalid."}`, llm.ErrInvalidRequest},
	} {
		e := HTTPError(tt.status, http.Header{"X-Amzn-Errortype": {tt.code}}, []byte(tt.body))
		if want, _, _ := strings.Cut(tt.code, ":"); e.Kind != tt.kind || e.Code != want || e.Message == "" || strings.HasPrefix(e.Message, "{") {
			t.Errorf("%s: got %+v, want kind %s", tt.code, e, tt.kind)
		}
	}
}

func FuzzEventStream(f *testing.F) {
	f.Add(event("chunk", `{"bytes":"e30="}`), false)
	f.Add(message(`{"message":"no"}`, ":message-type", "exception", ":exception-type", "x"), false)
	f.Add([]byte{1, 'x', 7, 0, 9, 'a'}, true)
	f.Fuzz(func(t *testing.T, in []byte, headers bool) {
		if headers { // with correct checksums
			in = rawMessage(in, "{}")
		}
		got, err := streamed(bytes.NewReader(in), 1<<16)
		again, errAgain := streamed(iotest.OneByteReader(bytes.NewReader(in)), 1<<16)
		if fmt.Sprint(got) != fmt.Sprint(again) || fmt.Sprint(err) != fmt.Sprint(errAgain) {
			t.Errorf("whole: %v, %v; by byte: %v, %v", got, err, again, errAgain)
		}
	})
}
