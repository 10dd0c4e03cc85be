package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/brig-sandbox/brig/api"
)

// goJudge is a client of a running go-judge, over its REST interface.
type goJudge struct {
	url  string
	http http.Client
}

func newGoJudge(url string) *goJudge {
	g := &goJudge{url: url}
	g.http.Transport = &http.Transport{MaxIdleConnsPerHost: 64} // its clients keep their connections, as brig's do
	return g
}

// post sends a request and decodes the JSON answer.
func (g *goJudge) post(ctx context.Context, path, kind string, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}

	req.Header.Set("Content-Type", kind)
	res, err := g.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()

	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("go-judge: %s: %s", res.Status, text)
	}
	return json.Unmarshal(text, out)
}

// upload stores a file in go-judge, as a blob is stored in brig, and returns its id there.
func (g *goJudge) upload(ctx context.Context, name string, content []byte) (id string, err error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", name)
	if err == nil {
		_, err = part.Write(content)
	}
	if err = errors.Join(err, form.Close()); err != nil {
		return "", err
	}
	err = g.post(ctx, "/file", form.FormDataContentType(), body.Bytes(), &id)
	return id, err
}

// runner runs argv in go-judge, with the uploaded files copied in; the api.Run is not used.
func (g *goJudge) runner(files map[string]string, argv ...string) (runner, error) {
	type object map[string]any
	in := object{}
	for name, id := range files {
		in[name] = object{"fileId": id}
	}

	body, err := json.Marshal(object{"cmd": []object{{
		"args": argv, "env": []string{"PATH=/usr/bin:/bin"}, "copyIn": in,
		"files":    []object{{"content": ""}, {"name": "stdout", "max": 10240}, {"name": "stderr", "max": 10240}},
		"cpuLimit": 10e9, "memoryLimit": 256 << 20, "procLimit": 50,
	}}})

	return func(ctx context.Context, _ api.Run) (api.Result, error) {
		var out []struct {
			Status, Error string
			ExitStatus    int
			Files         map[string]string
		}
		if err := g.post(ctx, "/run", "application/json", body, &out); err != nil {
			return api.Result{}, err
		}
		if len(out) != 1 || out[0].Status != "Accepted" {
			return api.Result{}, fmt.Errorf("go-judge: %+v", out)
		}
		return api.Result{Verdict: api.OK, ExitCode: out[0].ExitStatus, Stdout: api.Bytes(out[0].Files["stdout"])}, nil
	}, err
}

// A comparison is one program in brig, in go-judge and as a plain spawn.
type comparison struct {
	name       string
	wantStdout string
	bare       bare
	run        api.Run // brig's
	other      runner  // go-judge's
}

// comparisons returns /bin/true, which each has in its own root, and one static binary, which
// is uploaded to both once and which both copy into each run.
func (b *bench) comparisons(ctx context.Context, g *goJudge) ([]comparison, error) {
	none := api.Collect{None: true} // go-judge collects no files by default
	hello := comparison{name: "/bin/true", bare: b.plain(), run: b.run}
	hello.bare.argv, hello.run.Argv, hello.run.Collect = []string{"/bin/true"}, []string{"/bin/true"}, none
	var err error
	if hello.other, err = g.runner(nil, "/bin/true"); err != nil {
		return nil, err
	}

	box := filepath.Join(b.agent.Dir, "box-sum")
	if err := os.Mkdir(box, 0o755); err != nil {
		return nil, err
	}

	path := filepath.Join(box, "sum")
	if out, err := exec.CommandContext(ctx, "gcc", "-O2", "-static", "-s", "-o", path,
		"internal/bench/spawn/sum.c").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("gcc internal/bench/spawn/sum.c: %w\n%s", err, out)
	}

	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}

	digest, err := b.agent.Client.PutBlob(ctx, content)
	if err != nil {
		return nil, err
	}

	id, err := g.upload(ctx, "sum", content)
	if err != nil {
		return nil, err
	}

	sum := comparison{
		name: fmt.Sprintf("C program, static, %d KiB", len(content)>>10), wantStdout: "5050\n",
		bare: bare{root: b.agent.Rootfs, box: box, argv: []string{"/box/sum", "100"}},
		run: api.Run{Image: b.run.Image, Argv: []string{"/box/sum", "100"}, Collect: none,
			Files: []api.File{{Name: "sum", Blob: digest, Executable: true}}},
	}

	sum.other, err = g.runner(map[string]string{"sum": id}, "/w/sum", "100")
	return []comparison{hello, sum}, err
}

// checked wraps a runner: it fails unless the program wrote c.says.
func (c comparison) checked(run runner) runner {
	return func(ctx context.Context, r api.Run) (api.Result, error) {
		res, err := run(ctx, r)
		if err == nil && string(res.Stdout) != c.wantStdout {
			err = fmt.Errorf("%s wrote %q; want %q", c.name, res.Stdout, c.wantStdout)
		}
		return res, err
	}
}

// compare measures brig and a go-judge alternately, with the plain spawn as the lower bound
// of both.
func (b *bench) compare(ctx context.Context) error {
	g := newGoJudge(b.cfg.goJudge)
	defer g.http.CloseIdleConnections()

	all, err := b.comparisons(ctx, g)
	if err != nil {
		return err
	}

	b.addLine("| | clients | plain spawns/s | brig runs/s | p50 ms | p99 ms | go-judge runs/s | p50 ms | p99 ms | " +
		"brig to go-judge | plain to go-judge |")
	b.addLine("|---|---|---|---|---|---|---|---|---|---|---|")

	for _, c := range all {
		for _, clients := range []int{1, 2, 4} {
			var plain, its, other row
			for round := range b.cfg.rounds + 1 {
				p, err := c.bare.spawn(ctx, b.spawner, min(clients, b.slots), b.cfg.hot, 0)
				if err != nil {
					return err
				}

				s, err := sandboxed(ctx, c.checked(b.agent.Client.Run), c.run, clients, b.slots, b.cfg.hot/clients, 0)
				if err != nil {
					return err
				}

				o, err := sandboxed(ctx, c.checked(c.other), c.run, clients, clients, b.cfg.hot/clients, 0) // go-judge has its own queue
				if err != nil {
					return err
				}
				if round > 0 { // the first round warms up the caches of both
					plain.add(p)
					its.add(s)
					other.add(o)
				}
			}

			b.addLine("| %s | %d | %.0f | %.0f | %.2f | %.2f | %.0f | %.2f | %.2f | %.2fx | %.2fx |", c.name,
				clients, median(plain.rates),
				median(its.rates), median(its.p50)/1e3, median(its.p99)/1e3, median(other.rates),
				median(other.p50)/1e3, median(other.p99)/1e3,
				median(ratios(its.rates, other.rates)), median(ratios(plain.rates, other.rates)))
		}
	}

	return nil
}
