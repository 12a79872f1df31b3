//go:build linux && (amd64 || arm64)

package effects

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"
)

// tcpPorts are the ports with a listener, on both loopback addresses.
var tcpPorts = []int{22, 53, 80, 443, 8080, 9999}

// udpPorts are the ports for datagrams.
var udpPorts = []int{53, 9999}

// unixSockets are the streams, and logSocket takes datagrams.
var unixSockets = []string{"/run/docker.sock", "/run/agent.sock", "@effects"}

const logSocket = "/dev/log"

// listeners record who reached them.
type listeners struct {
	mu    sync.Mutex
	heard map[string]int

	fences []func() error // each returns when everything before it was heard
}

// listen starts all listeners.
func listen() (*listeners, error) {
	l := &listeners{heard: make(map[string]int)}
	var err error
	for _, host := range []string{"127.0.0.1", "[::1]"} {
		for _, port := range tcpPorts {
			err = errors.Join(err, l.stream("tcp", fmt.Sprintf("%s:%d", host, port)))
		}
		for _, port := range udpPorts {
			err = errors.Join(err, l.packets("udp", fmt.Sprintf("%s:%d", host, port)))
		}
	}
	for _, path := range unixSockets {
		err = errors.Join(err, l.stream("unix", path))
	}
	return l, errors.Join(err, l.packets("unixgram", logSocket))
}

// fence is a packet that arrives after all earlier packets.
var fence = []byte("fence")

// stream listens for connections. A connection that begins with the fence is the tests' own.
func (l *listeners) stream(network, address string) error {
	s, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	if network == "unix" && address[0] == '/' {
		err = os.Chmod(address, 0o777)
	}
	passed := make(chan struct{})
	go func() {
		for {
			c, err := s.Accept()
			if err != nil {
				return
			}
			l.note(network + " " + address)
			go func() {
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(2 * time.Second))
				first := make([]byte, 512)
				n, _ := c.Read(first)
				if bytes.Equal(first[:n], fence) {
					l.forget(network + " " + address)
					passed <- struct{}{}
					return
				}
				_, _ = c.Write([]byte("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"))
			}()
		}
	}()
	l.fences = append(l.fences, func() error {
		c, err := net.Dial(network, address)
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := c.Write(fence); err != nil {
			return err
		}
		<-passed
		return nil
	})
	return err
}

// packets listens for datagrams.
func (l *listeners) packets(network, address string) error {
	c, err := net.ListenPacket(network, address)
	if err != nil {
		return err
	}
	if network == "unixgram" {
		err = os.Chmod(address, 0o777)
	}
	passed := make(chan struct{})
	go func() {
		data := make([]byte, 2048)
		for {
			n, _, err := c.ReadFrom(data)
			if err != nil {
				return
			}
			if bytes.Equal(data[:n], fence) {
				passed <- struct{}{}
				continue
			}
			l.note(network + " " + address)
		}
	}()
	l.fences = append(l.fences, func() error {
		c, err := net.Dial(network, address)
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := c.Write(fence); err != nil {
			return err
		}
		<-passed
		return nil
	})
	return err
}

func (l *listeners) note(who string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard[who]++
}

func (l *listeners) forget(who string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard[who]--
}

// reached returns which listeners something reached since the last call.
func (l *listeners) reached() (list []string, err error) {
	for _, f := range l.fences {
		if err := f(); err != nil {
			return nil, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for who, n := range l.heard {
		if n > 0 {
			list = append(list, who)
		}
	}
	clear(l.heard)
	slices.Sort(list)
	return list, nil
}
