package serve

import (
	"context"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxProgress limits the output in a notification. If a client reads more slowly than a tool writes, older output
	// is skipped; the result contains it.
	maxProgress = 8 << 10
	// progressEvery is the minimum time between notifications.
	progressEvery = 50 * time.Millisecond
)

// progress sends a running call's output to the client. A slow client does not delay the call.
type progress struct {
	more   chan struct{} // has an element if there is unsent output
	ending chan struct{} // closed when there is no further output
	done   chan struct{} // closed when everything was sent

	mu    sync.Mutex
	text  []byte
	total int
}

// showProgress starts sending output. The caller must close the progress.
func showProgress(ctx context.Context, session *sdk.ServerSession, token any) *progress {
	p := &progress{more: make(chan struct{}, 1), ending: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		for !p.ended() {
			select {
			case <-p.more:
			case <-p.ending:
			}
			text, sent := p.take()
			if text != "" &&
				session.NotifyProgress(
					ctx,
					&sdk.ProgressNotificationParams{ProgressToken: token, Message: text, Progress: float64(sent)},
				) != nil {
				return
			}
			select {
			case <-time.After(progressEvery):
			case <-p.ending:
			}
		}
	}()
	return p
}

func (p *progress) ended() bool {
	select {
	case <-p.ending:
		return len(p.more) == 0
	default:
		return false
	}
}

// write adds output. It never blocks.
func (p *progress) write(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = append(p.text, b...)
	p.total += len(b)
	if n := len(p.text) - maxProgress; n > 0 {
		p.text = append(p.text[:0], p.text[n:]...)
	}
	select {
	case p.more <- struct{}{}:
	default:
	}
}

// take returns the unsent output, without an incomplete character at its end, and the total number of bytes sent so
// far.
func (p *progress) take() (text string, sent int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.text)
	for i := 1; i < utf8.UTFMax && i <= n; i++ {
		if tail := p.text[n-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				n -= i
			}
			break
		}
	}
	text = strings.ToValidUTF8(string(p.text[:n]), "\uFFFD")
	p.text = append(p.text[:0], p.text[n:]...)
	return text, p.total - len(p.text)
}

// close sends the rest and waits until it is sent. A nil progress has nothing to send.
func (p *progress) close() {
	if p != nil {
		close(p.ending)
		<-p.done
	}
}
