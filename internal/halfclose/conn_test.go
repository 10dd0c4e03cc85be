package halfclose

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/internal/testenv"
)

// A listener makes a Conn of each connection.
type listener struct{ net.Listener }

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return New(c), nil
}

// A served is a handler that says when a request began, and how it ended.
type served struct {
	began, reply chan struct{}
	ended        chan error // why its context ended; nil: it was answered
}

func (s *served) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		s.ended <- err
		return
	}
	if strings.HasPrefix(r.URL.Path, "/begins") {
		_, _ = io.WriteString(w, "first ")
		_ = http.NewResponseController(w).Flush()
	}

	s.began <- struct{}{}
	for r.URL.Path == "/begins/and/goes/on" && r.Context().Err() == nil {
		_, _ = io.WriteString(w, strings.Repeat(".", 4<<10))
		_ = http.NewResponseController(w).Flush()
		time.Sleep(time.Millisecond)
	}

	select {
	case <-r.Context().Done():
		s.ended <- r.Context().Err()
	case <-s.reply:
		_, _ = io.WriteString(w, "answer")
		s.ended <- nil
	}
}

// halfCloser is the connection of a client.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// serve serves h on a network, and returns a connection to it, and a channel that gets a value when the server
// has read that the sending side is closed.
func serve(t *testing.T, network string, h http.Handler) (halfCloser, <-chan struct{}) {
	t.Helper()
	address := "127.0.0.1:0"
	if network == "unix" {
		address = filepath.Join(t.TempDir(), "s")
	}
	ln, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}

	ln, closed := testenv.HalfClosed(ln)
	web := httptest.NewUnstartedServer(h)
	web.Listener.Close()
	web.Listener = listener{ln}
	web.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, listener{}, c)
	}
	web.Config.ConnState = func(c net.Conn, s http.ConnState) {
		if s == http.StateIdle {
			c.(*Conn).Answered()
		}
	}
	web.Start()
	t.Cleanup(web.Close)

	c, err := net.Dial(network, ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(halfCloser), closed
}

// newServed makes a handler that is replied to when the test says so.
func newServed() *served {
	return &served{began: make(chan struct{}, 8), reply: make(chan struct{}, 8), ended: make(chan error, 8)}
}

func write(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

// read reads exactly the text.
func read(t *testing.T, c net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(c, got); err != nil || string(got) != want {
		t.Fatalf("%q, %v; want %q", got[:n], err, want)
	}
}

const (
	post    = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx"
	post10  = "POST / HTTP/1.0\r\nHost: x\r\nContent-Length: 1\r\n\r\nx"
	begins  = "POST /begins HTTP/1.0\r\nHost: x\r\nContent-Length: 1\r\n\r\nx"
	expects = "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n"
)

// Each client closes its sending side in a request, and gets the bytes that it would have got without that.
func TestAHalfClosedClientGetsItsAnswer(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		for name, tt := range map[string]struct {
			first string // an earlier request on the connection, with its whole answer
			last  string
			then  string // the rest of last, sent when the client got the status 100
			many  int    // requests in last
		}{
			"a request":                 {last: post},
			"without a body":            {last: "GET / HTTP/1.1\r\nHost: x\r\n\r\n"},
			"HTTP/1.0":                  {last: post10},
			"the second request":        {first: post, last: post},
			"100 Continue":              {last: expects, then: "x"},
			"100 Continue, not awaited": {last: expects + "x"},
			"three in a pipeline":       {last: post + post + post, many: 3},
		} {
			t.Run(network+"/"+name, func(t *testing.T) {
				h := newServed()
				c, closed := serve(t, network, h)
				if tt.first != "" {
					write(t, c, tt.first)
					h.reply <- struct{}{}
					read(t, c, "HTTP/1.1 200 OK\r\n")
					skip(t, c)
				}

				write(t, c, tt.last)
				if strings.HasPrefix(tt.last, expects) {
					read(t, c, "HTTP/1.1 100 Continue\r\n\r\n")
				}
				write(t, c, tt.then)
				if err := c.CloseWrite(); err != nil {
					t.Fatal(err)
				}

				<-closed
				for range max(tt.many, 1) {
					want := "HTTP/1.1 200 OK\r\n"
					if network == "tcp" {
						read(t, c, "H")
						want = want[1:]
					}
					if tt.last == post10 {
						want = strings.Replace(want, "1.1", "1.0", 1)
					}
					h.reply <- struct{}{}
					read(t, c, want)
					skip(t, c)
					if err := <-h.ended; err != nil {
						t.Error(err)
					}
				}
				if rest, err := io.ReadAll(c); err != nil || len(rest) > 0 {
					t.Errorf("after the answer: %q, %v", rest, err)
				}
			})
		}
	}
}

// skip reads the rest of an answer.
func skip(t *testing.T, c net.Conn) {
	t.Helper()
	var got strings.Builder
	for !strings.HasSuffix(got.String(), "\r\n\r\nanswer") {
		if n, err := io.CopyN(&got, c, 1); n != 1 {
			t.Fatalf("%q, %v", got.String(), err)
		}
	}
}

// A client that has left ends its request, in whatever order it closes.
func TestAClientThatHasLeftEndsItsRequest(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		for name, tt := range map[string]struct {
			request string
			leave   func(*testing.T, halfCloser)
		}{
			"at once":  {post, func(*testing.T, halfCloser) {}},
			"HTTP/1.0": {post10, func(*testing.T, halfCloser) {}},
			"after its sending side": {post, func(t *testing.T, c halfCloser) {
				if err := c.CloseWrite(); err != nil {
					t.Error(err)
				}
			}},
			"when it has read what came": {post, func(t *testing.T, c halfCloser) {
				if err := c.CloseWrite(); err != nil {
					t.Error(err)
				}
				if network == "tcp" {
					read(t, c, "H")
				}
			}},
			"during the response": {begins, func(*testing.T, halfCloser) {}},
		} {
			t.Run(network+"/"+name, func(t *testing.T) {
				h := newServed()
				c, _ := serve(t, network, h)
				write(t, c, tt.request)
				<-h.began
				tt.leave(t, c)
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
				if err := <-h.ended; err != context.Canceled { //nolint:errorlint // as net/http gives it
					t.Errorf("%v; want its context canceled", err)
				}
			})
		}
	}
}

// A body that is cut off is an error at once, not when the server stops waiting for it.
func TestABodyThatIsCutOffIsRefusedAtOnce(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		h := newServed()
		c, _ := serve(t, network, h)
		write(t, c, strings.TrimSuffix(post, "x"))
		if err := c.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if err := <-h.ended; err != io.ErrUnexpectedEOF { //nolint:errorlint // as net/http gives it
			t.Errorf("%s: %v", network, err)
		}
	}
}

// letWritesTell is h, whose writes tell if the client has left.
func letWritesTell(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Context().Value(listener{}).(*Conn).LetWritesTell()
		h.ServeHTTP(w, r)
	})
}

// When the response has begun, a client of TCP that closes its sending side has left, unless writes tell: then its answer
// is whole.
func TestAResponseThatHasBegun(t *testing.T) {
	for _, writesTell := range []bool{false, true} {
		h := newServed()
		handler := http.Handler(h)
		if writesTell {
			handler = letWritesTell(h)
		}

		c, closed := serve(t, "tcp", handler)
		write(t, c, begins)
		<-h.began
		if err := c.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if !writesTell {
			if err := <-h.ended; err != context.Canceled { //nolint:errorlint // as net/http gives it
				t.Errorf("%v; want its context canceled", err)
			}
			continue
		}

		// Nothing is sent early: it would be in the middle of the response.
		<-closed
		h.reply <- struct{}{}
		text, err := io.ReadAll(c)
		if err != nil || !strings.HasSuffix(string(text), "\r\n\r\nfirst answer") {
			t.Errorf("%q, %v", text, err)
		}
	}
}

// Where writes tell, a client that has left is noticed at one.
func TestAWriteTells(t *testing.T) {
	h := newServed()
	c, closed := serve(t, "tcp", letWritesTell(h))
	write(t, c, strings.Replace(begins, "/begins", "/begins/and/goes/on", 1))
	<-h.began
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	<-closed
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-h.ended; err != context.Canceled { //nolint:errorlint // as net/http gives it
		t.Errorf("%v; want its context canceled", err)
	}
}
