package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/brig-sandbox/brig/api"
)

// A bareClient speaks to the service as package client does to the agent: one write,
// one read, no goroutine. Compared with Go's own HTTP client it shows which part of a
// run's time the service takes.
type bareClient struct {
	addr string

	mu   sync.Mutex
	idle []*bareConn // guarded by mu
}

type bareConn struct {
	net.Conn
	in *bufio.Reader
}

func newBare(url string) *bareClient { return &bareClient{addr: strings.TrimPrefix(url, "http://")} }

func (c *bareClient) get() (*bareConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.idle); n > 0 {
		k := c.idle[n-1]
		c.idle = c.idle[:n-1]
		return k, nil
	}
	k, err := net.Dial("tcp", c.addr)
	if err != nil {
		return nil, err
	}
	return &bareConn{k, bufio.NewReader(k)}, nil
}

// Run executes one run. The connection is reused unless there was an error.
func (c *bareClient) Run(_ context.Context, r api.Run) (res api.Result, err error) {
	body, err := json.Marshal(r)
	if err != nil {
		return res, err
	}

	k, err := c.get()
	if err != nil {
		return res, err
	}

	answer, err := k.exchange(body)
	if err != nil {
		k.Close()
		return res, err
	}

	c.mu.Lock()
	c.idle = append(c.idle, k)
	c.mu.Unlock()
	return res, json.Unmarshal(answer, &res)
}

func (k *bareConn) exchange(body []byte) ([]byte, error) {
	head := fmt.Appendf(nil,
		"POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
		len(body))
	if _, err := k.Write(append(head, body...)); err != nil {
		return nil, err
	}

	res, err := http.ReadResponse(k.in, nil)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()

	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.200s", res.Status, answer)
	}
	return answer, err
}

func (c *bareClient) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.idle {
		k.Close()
	}
	c.idle = nil
}
