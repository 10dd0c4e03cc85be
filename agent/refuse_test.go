package agent_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/agent"
	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
)

// raw sends bytes and returns the first answer.
func raw(t *testing.T, socket, request string) (*http.Response, string) {
	t.Helper()
	nc, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { nc.Close() })
	nc.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(nc, request); err != nil {
		t.Fatal(err)
	}

	res, err := http.ReadResponse(bufio.NewReader(nc), nil)
	if err != nil {
		t.Fatalf("answer to %.60q: %v", request, err)
	}

	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

func post(body string, headers ...string) string {
	return fmt.Sprintf("POST /v1/runs HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s", strings.Join(headers, ""), len(body), body)
}

const upgrade = "Connection: Upgrade\r\nUpgrade: brig-stream/1\r\n"

func TestBadRequestsAreRefusedWithoutARun(t *testing.T) {
	socket, _ := serve(t, agent.Config{MaxRun: 4096,
		Runner: runner(func(context.Context, api.Run, api.Streams, api.Caller) (api.Result, error) {
			t.Error("a refused request was run")
			return api.Result{}, nil
		})})

	for _, tt := range []struct {
		name    string
		request string
		status  int
		code    api.Code
	}{
		{"an unknown field", post(`{"image":"a","argv":["b"],"host_path":"/etc"}`), 400, api.CodeBadRequest},
		{"an unknown field, streamed", post(`{"image":"a","argv":["b"],"host_path":"/etc"}`, upgrade), 400, api.CodeBadRequest},
		{"no JSON", post(`run this`), 400, api.CodeBadRequest},
		{"no body", post(``), 400, api.CodeBadRequest},
		{"something after the end", post(`{"image":"a","argv":["b"]} {}`), 400, api.CodeBadRequest},
		{"a limit that makes no sense", post(`{"image":"a","argv":["b"],"limits":{"pids":-1}}`), 400, api.CodeBadLimits},
		{"such a limit, streamed", post(`{"image":"a","argv":["b"],"limits":{"pids":-1}}`, upgrade), 400, api.CodeBadLimits},
		{"such a limit of a test", post(`{"language":"a","source":"b","tests":[{"limits":{"wall":"1us"}}]}`), 400, api.CodeBadLimits},
		{"such a limit of a compile stage", post(`{"language":"a","source":"b","compile_limits":{"wall":"1us"}}`),
			400, api.CodeBadLimits},
		{"such a limit of a checker", post(`{"language":"a","source":"b","tests":[{}],"check":{"protocol":"kattis",` +
			`"language":"a","source":"c","limits":{"wall":"1us"}}}`), 400, api.CodeBadLimits},
		{"a file name that climbs", post(`{"image":"a","argv":["b"],"files":[{"name":"../x","content":""}]}`), 400, api.CodeBadFile},
		{"an announced length over the cap (API-01)", "POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999999\r\n\r\n",
			413, api.CodeTooLarge},
		{"chunks without end (API-01)",
			"POST /v1/runs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" +
				strings.Repeat("400\r\n"+strings.Repeat("a", 1024)+"\r\n", 5), 413, api.CodeTooLarge},
		{"a compressed body (API-03)", post(`{}`, "Content-Encoding: gzip\r\n"), 400, api.CodeBadRequest},
		{"a file name that climbs, in a body that is as it is", post(`{"image":"a","argv":["b"],"files":[{"name":"../x","content":""}]}`,
			"Content-Encoding: identity\r\n"), 400, api.CodeBadFile},
		{"another upgrade", post(`{"image":"a","argv":["b"]}`, "Connection: Upgrade\r\nUpgrade: h2c\r\n"), 400, api.CodeBadRequest},
		{"stdin twice", post(`{"image":"a","argv":["b"],"stdin":"x"}`, upgrade), 400, api.CodeBadRequest},
		{"a debug page (API-21)", "GET /debug/pprof/ HTTP/1.1\r\nHost: x\r\n\r\n", 404, api.CodeNotFound},
		{"another method", "GET /v1/runs HTTP/1.1\r\nHost: x\r\n\r\n", 404, api.CodeNotFound},
		{"images where there is no store", "GET /v1/images HTTP/1.1\r\nHost: x\r\n\r\n", 404, api.CodeNotFound},
		{"languages where there are none", "GET /v1/languages HTTP/1.1\r\nHost: x\r\n\r\n", 404, api.CodeNotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res, body := raw(t, socket, tt.request)
			if res.StatusCode != tt.status || !strings.Contains(body, `"code":"`+string(tt.code)+`"`) {
				t.Errorf("%d %s; want %d with code %s", res.StatusCode, body, tt.status, tt.code)
			}
		})
	}
}

func TestTwoLengthsAreRefused(t *testing.T) { // API-09; net/http's own answer
	socket, _ := serve(t, agent.Config{})
	for _, h := range []string{"Content-Length: 2\r\nContent-Length: 3\r\n", "X: a\r\n b: c\r\n\r\n", "Content-Length: -1\r\n"} {
		if res, body := raw(t, socket, "POST /v1/runs HTTP/1.1\r\nHost: x\r\n"+h+"\r\n{}"); res.StatusCode/100 != 4 {
			t.Errorf("%q: %d %s; want 4xx", h, res.StatusCode, body)
		}
	}
}

func TestErrorsOfTheRunnerKeepTheirCode(t *testing.T) {
	var give error
	socket, _ := serve(t, agent.Config{Runner: runner(func(context.Context, api.Run, api.Streams, api.Caller) (api.Result, error) {
		return api.Result{}, give
	})})
	c := client.New(socket)
	for _, tt := range []struct {
		name string
		err  error
		code api.Code
		safe bool
	}{
		{"busy may be sent again", api.Fail(api.CodeBusy, "every slot is leased"), api.CodeBusy, true},
		{"one inside another error", fmt.Errorf("pool: %w", api.Refuse(api.CodeNoImage, "no image")), api.CodeNoImage, false},
		{"a plain error is internal", errors.New("mount /var/lib/brig: no"), api.CodeInternal, true},
	} {
		for _, form := range []string{"plain", "streamed"} {
			t.Run(tt.name+", "+form, func(t *testing.T) {
				give = tt.err
				var err error
				if form == "plain" {
					_, err = c.Run(t.Context(), anyRun)
				} else {
					_, err = c.RunStream(t.Context(), anyRun, nil, nil, nil)
				}
				var e *api.Error
				if !errors.As(err, &e) || e.Code != tt.code || e.RetrySafe != tt.safe {
					t.Errorf("%+v; want code %s, retry_safe %v", err, tt.code, tt.safe)
				}
			})
		}
	}
}

func TestBusyIs503AndSaysWhenToRetry(t *testing.T) {
	socket, _ := serve(t, agent.Config{Runner: runner(func(context.Context, api.Run, api.Streams, api.Caller) (api.Result, error) {
		return api.Result{}, api.Fail(api.CodeBusy, "every slot is leased")
	})})
	res, body := raw(t, socket, post(`{"image":"a","argv":["b"]}`))
	if res.StatusCode != 503 || res.Header.Get("Retry-After") == "" || !strings.Contains(body, `"retry_safe":true`) {
		t.Errorf("%d, Retry-After %q, %s; want 503, a time, retry_safe", res.StatusCode, res.Header.Get("Retry-After"), body)
	}
}

func TestAPanicFailsOneRequest(t *testing.T) { // AGT-10
	first := true
	socket, _ := serve(t, agent.Config{Runner: runner(func(context.Context, api.Run, api.Streams, api.Caller) (api.Result, error) {
		if first {
			first = false
			panic("injected")
		}
		return api.Result{Verdict: api.OK}, nil
	})})

	c := client.New(socket)
	for _, form := range []func() (api.Result, error){
		func() (api.Result, error) { return c.Run(t.Context(), anyRun) },
		func() (api.Result, error) { return c.RunStream(t.Context(), anyRun, nil, nil, nil) },
	} {
		first = true
		if _, err := form(); code(err) != api.CodeInternal {
			t.Errorf("error %v; want internal", err)
		} else if strings.Contains(err.Error(), "injected") || strings.Contains(err.Error(), ".go:") {
			t.Errorf("the answer shows the inside: %v", err)
		}
		if res, err := form(); err != nil || res.Verdict != api.OK {
			t.Errorf("the request after it: %v, %v; want ok", res.Verdict, err)
		}
	}
}

func TestStoppingFinishesActiveRunsAndRefusesNewOnes(t *testing.T) { // AGT-11
	started, goOn := make(chan struct{}), make(chan struct{})
	socket, stop := serve(t, agent.Config{Runner: runner(func(context.Context, api.Run, api.Streams, api.Caller) (api.Result, error) {
		close(started)
		<-goOn
		return api.Result{Verdict: api.OK}, nil
	})})

	c := client.New(socket)
	got := make(chan error, 1)
	go func() { _, err := c.Run(t.Context(), anyRun); got <- err }()
	within(t, "start", started)
	stopped := make(chan struct{})
	go func() { stop(); close(stopped) }()
	for { // until the agent has noticed
		if h, err := c.Health(t.Context()); err != nil {
			close(goOn)
			t.Fatal(err)
		} else if h.Status == "stopping" {
			break
		}
		time.Sleep(time.Millisecond)
	}

	if _, err := c.Run(t.Context(), anyRun); code(err) != api.CodeStopping {
		t.Errorf("a new run: %v; want stopping", err)
	}

	close(goOn)
	if err := <-got; err != nil {
		t.Errorf("the run that was under way: %v", err)
	}

	within(t, "end", stopped)
	if _, err := c.Run(t.Context(), anyRun); code(err) != api.CodeAgentUnreachable {
		t.Errorf("a run after the end: %v; want agent-unreachable", err)
	}
}

func TestStoppingCancelsRunsThatTakeTooLong(t *testing.T) {
	for _, form := range []string{"plain", "streamed", "streamed to a client that reads nothing"} {
		t.Run(form, func(t *testing.T) {
			w := newWaits()
			cfg := agent.Config{Runner: w, GracePeriod: 50 * time.Millisecond}
			if strings.HasSuffix(form, "nothing") {
				cfg.Runner = runner(func(ctx context.Context, r api.Run, s api.Streams, c api.Caller) (api.Result, error) {
					w.started <- struct{}{}
					for {
						if _, err := s.Stdout.Write(make([]byte, 1<<20)); err != nil {
							w.ended <- struct{}{}
							return api.Result{}, err
						}
					}
				})
			}

			socket, stop := serve(t, cfg)
			switch form {
			case "plain":
				go client.New(socket).Run(t.Context(), anyRun)
			case "streamed":
				go client.New(socket).RunStream(t.Context(), anyRun, nil, nil, nil)
			default:
				nc, err := net.Dial("unix", socket)
				if err != nil {
					t.Fatal(err)
				}
				defer nc.Close()
				io.WriteString(nc, post(`{"image":"a","argv":["b"]}`, upgrade))
			}

			within(t, "start", w.started)
			stopped := make(chan struct{})
			go func() { stop(); close(stopped) }()
			within(t, "end of the run", w.ended)
			within(t, "end of the agent", stopped)
		})
	}
}

func TestAClientThatStopsReadingIsDisconnected(t *testing.T) {
	ended := make(chan struct{}, 1)
	socket, _ := serve(t, agent.Config{MaxWall: time.Millisecond, StallTimeout: 200 * time.Millisecond,
		Runner: runner(func(ctx context.Context, r api.Run, s api.Streams, c api.Caller) (api.Result, error) {
			defer func() { ended <- struct{}{} }()
			for {
				if _, err := s.Stdout.Write(make([]byte, 1<<20)); err != nil {
					if ctx.Err() == nil {
						t.Error("the run was not canceled")
					}
					return api.Result{}, err
				}
			}
		})})

	nc, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()

	io.WriteString(nc, post(`{"image":"a","argv":["b"]}`, upgrade))
	within(t, "end of the run", ended)
}

func TestConnectionsOverTheLimitWait(t *testing.T) { // API-02
	socket, _ := serve(t, agent.Config{MaxConns: 2})
	var held []net.Conn
	for range 2 {
		nc, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		held = append(held, nc)
	}

	time.Sleep(50 * time.Millisecond) // let the agent accept both
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()

	if _, err := client.New(socket).Health(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a third connection: %v; want it to wait", err)
	}

	held[0].Close()
	if _, err := client.New(socket).Health(t.Context()); err != nil {
		t.Errorf("after one left: %v", err)
	}
}
