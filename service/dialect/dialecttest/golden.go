// Package dialecttest tests dialects by golden files.
package dialecttest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

var update = flag.Bool("update", false, "write the runs and responses of a dialect into testdata")

// Golden checks a dialect against each archive of testdata, of which there must be at least so many. Its files are
//
//	request       METHOD PATH, an empty line, and the body
//	agent.json    optional: what can be asked for, where it differs from StandardAgent
//	accept        optional: Accept of the request
//	type          optional: Content-Type of the request; its body then has CR LF where the archive has LF
//	asks.json     the sessions that are asked for, or in which a command is executed; absent: none
//	sessions.json these sessions; or failure.json
//	kernels.json  the kernels that are told; asks.json then says what is done with them; or failure.json
//	headers       optional: lines NAME: VALUE, headers of the request that the dialect reads
//	calls.json    the requests of brig's own API, in their order; replyN or problemN.json is what the Nth got
//	framed        the body: a message of Connect, before which its length is set
//	parts         of a form with files: lines FIELD FILE, in place of a body
//	kept.json     optional: the files that are kept, for a list
//	content       optional: the content of a kept file that is read
//	keep.json     the files that are kept; absent: none
//	forget.json   the ids of kept files that are forgotten; absent: none
//	needs.json    the files that were kept before; absent: none
//	feeds.json    the runs whose stdin is the stdout of an earlier one; absent: none
//	missing       one of these is not kept, so that nothing runs
//	runs.json     the runs that are planned; absent: the dialect answers at once
//	submit.json   the submissions that are planned, and whether the client waits for them
//	recall.json   the tokens of the submissions that are asked for
//	states.json   what is known of these submissions; what a dialect keeps of its own may be left out
//	outcomes.json what became of each run of a batch, a Result or a Problem
//	results.json  their results; or
//	failure.json  the problem because of which there are none
//	response      the status, headers, an empty line, and the body
//
// With -update it writes asks.json, keep.json, forget.json, needs.json, feeds.json, runs.json, submit.json, recall.json
// and response.
func Golden(t *testing.T, d dialect.Dialect, minimum int) {
	t.Helper()
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) < minimum {
		t.Fatalf("%d exchanges, %v; want at least %d", len(names), err, minimum)
	}

	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			exchange(t, d, name, a)
		})
	}
}

func exchange(t *testing.T, d dialect.Dialect, name string, a *txtar.Archive) {
	e := &archive{t: t, Archive: a, compared: map[string]bool{}}
	on := e.agent()
	route, ask := e.request(d)
	plan := route.Plan(ask, on)

	if plan.Answer != nil && len(plan.Runs) > 0 {
		t.Fatal("there is an answer, and there are runs")
	}
	if len(plan.Needs) > 0 {
		e.compare("needs.json", lines(t, plan.Needs))
	}
	if len(plan.Typed) > 0 {
		e.compare("typed.json", lines(t, plan.Typed))
	}
	if len(plan.Feeds) > 0 {
		e.compare("feeds.json", lines(t, plan.Feeds))
	}

	fail := d.Fail
	if route.Fail != nil {
		fail = route.Fail
	}

	var got dialect.Response
	told := true
	switch {
	case e.find("missing") != nil:
		if got = plan.Missing; len(plan.Needs) == 0 {
			t.Fatal("nothing is needed")
		}
	case plan.Answer != nil:
		got = *plan.Answer
	case plan.Batch != nil:
		got = e.batch(*plan.Batch)
	case plan.Submit != nil:
		got = e.submit(d, *plan.Submit)
	case plan.Recall != nil:
		e.compare("recall.json", lines(t, plan.Recall.Tokens))
		got = plan.Recall.Tell(e.states(len(plan.Recall.Tokens)))
	case plan.Call != nil || plan.Upload != nil:
		got = e.calls(plan)
	case plan.Sessions != nil:
		got, told = e.sessions(d, *plan.Sessions, fail)
	case plan.Kernels != nil:
		got, told = e.kernels(d, *plan.Kernels, fail)
	case plan.List != nil:
		var all []dialect.Kept
		e.read("kept.json", &all)
		got = plan.List(all)
	case plan.Read != nil:
		var all []dialect.Kept
		if e.read("kept.json", &all); len(all) != 1 || e.find("content") == nil {
			t.Fatal("a kept file is read: kept.json must have it, and content its content")
		}
		got = plan.Read(all[0], bytes.TrimSuffix(e.find("content").Data, []byte("\n")))
	default:
		for i, run := range plan.Runs {
			if err := run.Validate(); err != nil && e.find("failure.json") == nil {
				t.Errorf("run %d: %v", i, err)
			}
		}
		e.compare("runs.json", lines(t, plan.Runs))

		if refused, is := e.failure(d, fail); is {
			got = refused
			break
		}
		var results []api.Result
		if e.read("results.json", &results); len(results) != len(plan.Runs) {
			t.Fatalf("%d results of %d runs", len(results), len(plan.Runs))
		}
		got = e.told(plan, results)
	}

	if len(got.Keep) > 0 {
		e.compare("keep.json", lines(t, got.Keep))
	}
	if len(got.Forget) > 0 {
		e.compare("forget.json", lines(t, got.Forget))
	}

	// A file that nothing was compared with says nothing.
	for _, name := range []string{
		"asks.json", "keep.json", "forget.json", "needs.json", "feeds.json", "runs.json", "submit.json", "recall.json",
		"calls.json",
	} {
		if e.find(name) != nil && !e.compared[name] {
			t.Errorf("there is a %s, and nothing of it is planned", name)
		}
	}
	if told {
		e.compare("response", written(got))
	}
	if e.changed {
		if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// told is what a plan tells of results. order.json has the orders in which they wrote to their streams, if they are not
// stdout, then stderr.
func (a *archive) told(plan dialect.Plan, results []api.Result) dialect.Response {
	if plan.TellInOrder == nil {
		return plan.Tell(results)
	}
	orders := make([]dialect.Order, len(results))
	a.read("order.json", &orders)
	return plan.TellInOrder(results, orders)
}

// An archive is one exchange.
type archive struct {
	*txtar.Archive
	t       *testing.T
	changed bool

	compared map[string]bool // by name
}

func (a *archive) find(name string) *txtar.File {
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &a.Files[i]
}

// failure is what a dialect tells of the problem in failure.json, if there is one.
func (a *archive) failure(d dialect.Dialect, fail func(*api.Problem, dialect.Word) dialect.Response) (r dialect.Response, is bool) {
	a.t.Helper()
	var p *api.Problem
	if a.read("failure.json", &p); p == nil {
		return r, false
	}
	return fail(p, dialect.FailureOf(d.Name, p)), true
}

// read reads a file of JSON, if there is one.
func (a *archive) read(name string, into any) {
	a.t.Helper()
	if f := a.find(name); f != nil {
		if err := json.Unmarshal(f.Data, into); err != nil {
			a.t.Fatalf("%s: %v", name, err)
		}
	}
}

// agent is what can be asked for. Languages of agent.json are instead of the standard ones, and no changes of them.
func (a *archive) agent() dialect.Agent {
	a.t.Helper()
	on := StandardAgent()
	standard := on.Languages
	on.Languages = nil
	if a.read("agent.json", &on); on.Languages == nil {
		on.Languages = standard
	}
	return on
}

// request reads the request and finds its route.
func (a *archive) request(d dialect.Dialect) (dialect.Route, dialect.Request) {
	a.t.Helper()
	f := a.find("request")
	if f == nil {
		a.t.Fatal("there is no request")
	}

	head, body, _ := bytes.Cut(f.Data, []byte("\n\n"))
	method, target, _ := strings.Cut(strings.TrimSpace(string(head)), " ")
	u, err := url.Parse(target)
	if err != nil {
		a.t.Fatal(err)
	}

	mux, r := http.NewServeMux(), &http.Request{Method: method, URL: u, Host: "test"}
	var route dialect.Route
	ask := dialect.Request{Method: method, Query: u.Query(), Path: map[string]string{}, Nonce: "NONCE",
		Body: bytes.TrimSuffix(body, []byte("\n"))}
	if accept := a.find("accept"); accept != nil {
		ask.Accept = strings.TrimSpace(string(accept.Data))
	}
	ask.Now = time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC)
	ask.Token = func(session string) string { return "TOKEN-OF-" + session }
	ask.Header = map[string]string{}
	if headers := a.find("headers"); headers != nil {
		for line := range strings.Lines(string(headers.Data)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			ask.Header[name] = value
		}
	}
	if kind := a.find("type"); kind != nil {
		ask.Type = strings.TrimSpace(string(kind.Data))
	}
	if framed := a.find("framed"); framed != nil { // a message of Connect, with its length before it
		message := bytes.TrimSuffix(framed.Data, []byte("\n"))
		ask.Body = append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
	}
	if kind := a.find("type"); kind != nil && strings.HasPrefix(ask.Type, "multipart/") {
		ask.Body = bytes.ReplaceAll(ask.Body, []byte("\n"), []byte("\r\n"))
	}
	for _, one := range d.Routes {
		mux.HandleFunc(one.Method+" "+one.Path, func(_ http.ResponseWriter, r *http.Request) {
			route = one
			for part := range strings.SplitSeq(one.Path, "/") {
				name := strings.TrimSuffix(strings.Trim(part, "{}"), "...")
				ask.Path[name] = r.PathValue(name)
			}
		})
	}

	mux.ServeHTTP(discard{}, r)
	if route.Plan == nil {
		a.t.Fatalf("no route is %s %s", method, target)
	}
	return route, ask
}

type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)             {}

// compare compares a file with what it should be, or writes it.
func (a *archive) compare(name string, got []byte) {
	a.t.Helper()
	a.compared[name] = true
	f := a.find(name)
	if f != nil && bytes.Equal(f.Data, got) {
		return
	}
	if !*update {
		want := []byte("(no such file)")
		if f != nil {
			want = f.Data
		}
		a.t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
		return
	}

	a.changed = true
	if f == nil {
		a.Files = append(a.Files, txtar.File{Name: name})
		f = &a.Files[len(a.Files)-1]
	}
	f.Data = got
}

func lines(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

func written(r dialect.Response) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d\n", r.Status)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		fmt.Fprintf(&b, "%s: %s\n", name, r.Header[name])
	}
	body := bytes.TrimSuffix(r.Body, []byte("\n"))
	if strings.Contains(r.Header["Content-Type"], "connect+") { // has numbers of more than one byte
		body = unframed(body)
	}
	fmt.Fprintf(&b, "\n%s\n", body)
	return b.Bytes()
}

// unframed writes the messages of Connect in lines, with their flags and lengths.
func unframed(body []byte) []byte {
	var b bytes.Buffer
	for len(body) >= 5 && body[0] < 4 {
		n := min(int(binary.BigEndian.Uint32(body[1:])), len(body)-5)
		fmt.Fprintf(&b, "%d %d %s\n", body[0], n, body[5:5+n])
		body = body[5+n:]
	}
	b.Write(body)
	return b.Bytes()
}
