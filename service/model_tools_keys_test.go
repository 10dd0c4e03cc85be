package service

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
)

// A meeting lets the callers of each name go on once there are two.
type meeting struct {
	mu     sync.Mutex
	places map[string]chan string
}

// exchange gives what to the other caller of the name, and returns what that one gives.
func (m *meeting) exchange(ctx context.Context, name, what string) (theirs string, err error) {
	m.mu.Lock()
	place, second := m.places[name]
	if second {
		delete(m.places, name)
	} else {
		place = make(chan string)
		m.places[name] = place
	}
	m.mu.Unlock()

	give := func() error {
		select {
		case place <- what:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	take := func() error {
		select {
		case theirs = <-place:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}

	steps := []func() error{give, take}
	if second {
		steps[0], steps[1] = take, give
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return "", err
		}
	}
	return theirs, nil
}

// pairedAgent is an agent whose programs print their source, and end only while two of them run whose sources have the
// same second word. Its sessions keep files.
func pairedAgent(runs *meeting) *http.ServeMux {
	var sessions atomic.Int64
	var files sync.Map
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/health", func(w http.ResponseWriter, r *http.Request) { say(w, 200, api.Health{Slots: 16}) })
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		var ask api.Run
		if err := json.NewDecoder(r.Body).Decode(&ask); err != nil {
			deny(w, 400, api.Refuse(api.CodeBadRequest, "%w", err))
			return
		}
		if _, err := runs.exchange(r.Context(), strings.Fields(string(ask.Source))[1], ""); err != nil {
			return
		}

		res := api.Result{Verdict: api.OK, Stdout: ask.Source,
			Usage: api.Usage{StdoutBytes: int64(len(ask.Source))}}
		for _, one := range ask.Tests {
			res.Tests = append(res.Tests, api.TestResult{ID: one.ID, Answer: api.Accepted, Result: api.Result{Verdict: api.OK}})
		}
		answerRun(w, r, res)
	})

	mux.HandleFunc("POST /v1/sessions", func(w http.ResponseWriter, r *http.Request) {
		say(w, 201, idleSession(fmt.Sprintf("s%d", sessions.Add(1))))
	})
	mux.HandleFunc("DELETE /v1/sessions/{id}", func(w http.ResponseWriter, r *http.Request) { say(w, 200, struct{}{}) })
	mux.HandleFunc("PUT /v1/sessions/{id}/files/{name...}", func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			deny(w, 400, api.Refuse(api.CodeBadRequest, "%w", err))
			return
		}
		files.Store(r.PathValue("id"), text)
		say(w, 200, struct{}{})
	})
	mux.HandleFunc("GET /v1/sessions/{id}/files/{name...}", func(w http.ResponseWriter, r *http.Request) {
		text, _ := files.Load(r.PathValue("id"))
		_, _ = w.Write(text.([]byte))
	})
	return mux
}

// A model is a client of MCP that calls tools in turns with another one, which has another key.
type model struct {
	*testing.T
	ctx    context.Context // ends once a model has failed: its pair would wait for it
	name   string          // no other model has it
	tests  int             // of its programs: differs from that of the other one
	client *sdk.ClientSession
	told   chan *sdk.ProgressNotificationParams
	others *meeting
}

// call calls a tool and returns its structured answer.
func (m *model) call(name string, args map[string]any, token string) (map[string]any, error) {
	params := &sdk.CallToolParams{Name: name, Arguments: args}
	if token != "" {
		params.SetProgressToken(token)
	}
	res, err := m.client.CallTool(m.ctx, params)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", m.name, name, err)
	}
	if res.IsError {
		return nil, fmt.Errorf("%s: %s: %s", m.name, name, res.Content[0].(*sdk.TextContent).Text)
	}
	return res.StructuredContent.(map[string]any), nil
}

// holds checks that a resource has the model's name in it, and that the resource of the other model is refused.
func (m *model) holds(pair, own, kind string) {
	read, err := m.client.ReadResource(m.ctx, &sdk.ReadResourceParams{URI: own})
	if err != nil || !strings.Contains(read.Contents[0].Text, m.name) {
		m.Errorf("%s: %s: %v, %+v", m.name, own, err, read)
	}

	theirs, err := m.others.exchange(m.ctx, pair+kind, own)
	if err != nil {
		m.Error(err)
		return
	}
	if read, err := m.client.ReadResource(m.ctx, &sdk.ReadResourceParams{URI: theirs}); err == nil {
		m.Errorf("%s reads %s of another key: %+v", m.name, theirs, read)
	}
	// Neither ends what it has while the other one asks for it.
	if _, err := m.others.exchange(m.ctx, pair+kind+" read", ""); err != nil {
		m.Error(err)
	}
}

// turn calls each kind of tool once, at the same time as the other model of the pair.
func (m *model) turn(pair string) error {
	source := m.name + " " + pair
	ran, err := m.call("run_code", map[string]any{"language": "python", "code": source}, "")
	if err != nil {
		return err
	}
	if ran["stdout"] != source {
		m.Errorf("%s has the output of another run: %v", m.name, ran)
	}
	m.holds(pair, fmt.Sprint("brig://runs/", ran["run_id"]), "run")

	var tests []map[string]any
	for range m.tests {
		tests = append(tests, map[string]any{"stdin": ""})
	}
	token := m.name + " of " + pair
	judged, err := m.call("run_tests", map[string]any{"language": "python", "code": source + "-tests", "tests": tests}, token)
	if err != nil {
		return err
	}
	if got := len(judged["tests"].([]any)); got != m.tests {
		m.Errorf("%s has %d tests of its %d: %v", m.name, got, m.tests, judged)
	}
	for ended := false; !ended; { // the client may read notices after the answer
		select {
		case p := <-m.told:
			if p.ProgressToken != token || p.Total != float64(m.tests) {
				m.Errorf("%s is told of the progress of another call: %+v", m.name, p)
			}
			ended = p.Progress == float64(m.tests)
		case <-m.ctx.Done():
			return m.ctx.Err()
		}
	}

	made, err := m.call("create_session", nil, "")
	if err != nil {
		return err
	}
	session := fmt.Sprint(made["session_id"])
	if _, err := m.call("write_file", map[string]any{"session_id": session, "path": "f", "content": m.name}, ""); err != nil {
		return err
	}
	m.holds(pair, "brig://sessions/"+session+"/files/f", "session")

	theirs, err := m.others.exchange(m.ctx, pair+"end", session)
	if err != nil {
		return err
	}
	if ended, err := m.call("end_session", map[string]any{"session_id": theirs}, ""); err == nil {
		m.Errorf("%s ends the session of another key: %v", m.name, ended)
	}
	if _, err := m.others.exchange(m.ctx, pair+"tried", ""); err != nil {
		return err
	}
	_, err = m.call("end_session", map[string]any{"session_id": session}, "")
	return err
}

// All requests share one server of the SDK. Two keys that call at the same time see nothing of each other: no run, session,
// resource or progress.
func TestKeysThatCallToolsAtOnceSeeTheirOwn(t *testing.T) {
	const pairs, turns = 4, 5
	keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob"})
	web := serveFake(t, pairedAgent(&meeting{places: map[string]chan string{}}),
		func(c *Config) { c.Keys, c.QueuePlaces = keys, 64 })

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	others := &meeting{places: map[string]chan string{}}
	var models sync.WaitGroup
	for i := range pairs {
		for key, tests := range map[string]int{"ann": 3, "bob": 5} {
			m := &model{T: t, ctx: ctx, name: key + strconv.Itoa(i), tests: tests, others: others,
				told: make(chan *sdk.ProgressNotificationParams, 100)}
			tell := func(_ context.Context, n *sdk.ProgressNotificationClientRequest) { m.told <- n.Params }
			to := &sdk.StreamableClientTransport{Endpoint: web.URL + "/mcp", MaxRetries: -1,
				HTTPClient: &http.Client{Transport: withHeader{as[key]}}}
			var err error
			m.client, err = sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"},
				&sdk.ClientOptions{ProgressNotificationHandler: tell}).Connect(t.Context(), to, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer m.client.Close()

			models.Go(func() {
				for n := range turns {
					if err := m.turn(fmt.Sprintf("%d-%d", i, n)); err != nil {
						t.Error(err)
						stop()
						return
					}
				}
			})
		}
	}
	models.Wait()
}
