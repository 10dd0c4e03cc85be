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

// goJudge is a running go-judge, asked over its REST interface.
type goJudge struct {
	url  string
	http http.Client
}

func newGoJudge(url string) *goJudge {
	g := &goJudge{url: url}
	g.http.Transport = &http.Transport{MaxIdleConnsPerHost: 64} // its clients keep their connections, as brig's do
	return g
}

// ask sends a request and decodes the JSON that answers it.
func (g *goJudge) ask(ctx context.Context, path, kind string, body []byte, out any) error {
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

// upload gives it a file to keep, as brig is given a blob, and returns its name there.
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
	err = g.ask(ctx, "/file", form.FormDataContentType(), body.Bytes(), &id)
	return id, err
}

// runner runs argv there, with the uploaded files copied in; the api.Run is not used.
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
		if err := g.ask(ctx, "/run", "application/json", body, &out); err != nil {
			return api.Result{}, err
		}
		if len(out) != 1 || out[0].Status != "Accepted" {
			return api.Result{}, fmt.Errorf("go-judge: %+v", out)
		}
		return api.Result{Verdict: api.OK, ExitCode: out[0].ExitStatus, Stdout: api.Bytes(out[0].Files["stdout"])}, nil
	}, err
}

// A contest is one program in both, and as a plain spawn.
type contest struct {
	name  string
	says  string
	bare  bare
	run   api.Run // brig's
	other runner  // go-judge's
}

// contests are /bin/true, which each has in its own root, and a static program of one
// and the same bytes, which both are given once and copy into each run.
func (b *bench) contests(ctx context.Context, g *goJudge) ([]contest, error) {
	none := api.Collect{None: true} // go-judge collects no files unless told to
	hello := contest{name: "/bin/true", bare: b.plain(), run: b.run}
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
	if out, err := exec.CommandContext(ctx, "gcc", "-O2", "-static", "-s", "-o", path, "bench/spawn/sum.c").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("gcc bench/spawn/sum.c: %w\n%s", err, out)
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
	sum := contest{
		name: fmt.Sprintf("C program, static, %d KiB", len(content)>>10), says: "5050\n",
		bare: bare{root: b.agent.Tree, box: box, argv: []string{"/box/sum", "100"}},
		run: api.Run{Image: b.run.Image, Argv: []string{"/box/sum", "100"}, Collect: none,
			Files: []api.File{{Name: "sum", Blob: digest, Executable: true}}},
	}
	sum.other, err = g.runner(map[string]string{"sum": id}, "/w/sum", "100")
	return []contest{hello, sum}, err
}

// saying is a runner that is wrong unless the program wrote text.
func (c contest) saying(run runner) runner {
	return func(ctx context.Context, r api.Run) (api.Result, error) {
		res, err := run(ctx, r)
		if err == nil && string(res.Stdout) != c.says {
			err = fmt.Errorf("%s wrote %q; want %q", c.name, res.Stdout, c.says)
		}
		return res, err
	}
}

// compare measures brig and a go-judge in turns, with the plain spawn as the floor of
// both.
func (b *bench) compare(ctx context.Context) error {
	g := newGoJudge(b.cfg.goJudge)
	defer g.http.CloseIdleConnections()
	all, err := b.contests(ctx, g)
	if err != nil {
		return err
	}
	b.say("| | clients | plain spawns/s | brig runs/s | p50 ms | p99 ms | go-judge runs/s | p50 ms | p99 ms | brig to go-judge | plain to go-judge |")
	b.say("|---|---|---|---|---|---|---|---|---|---|---|")
	for _, c := range all {
		for _, clients := range []int{1, 2, 4} {
			var plain, its, other row
			for round := range b.cfg.rounds + 1 {
				p, err := c.bare.spawn(ctx, b.spawner, min(clients, b.slots), b.cfg.hot, 0)
				if err != nil {
					return err
				}
				s, err := sandboxed(ctx, c.saying(b.agent.Client.Run), c.run, clients, b.slots, b.cfg.hot/clients, 0)
				if err != nil {
					return err
				}
				o, err := sandboxed(ctx, c.saying(c.other), c.run, clients, clients, b.cfg.hot/clients, 0) // it has a queue of its own
				if err != nil {
					return err
				}
				if round > 0 { // the first has both make what they keep
					plain.add(p)
					its.add(s)
					other.add(o)
				}
			}
			b.say("| %s | %d | %.0f | %.0f | %.2f | %.2f | %.0f | %.2f | %.2f | %.2fx | %.2fx |", c.name, clients, median(plain.rates),
				median(its.rates), median(its.p50)/1e3, median(its.p99)/1e3, median(other.rates), median(other.p50)/1e3, median(other.p99)/1e3,
				median(ratios(its.rates, other.rates)), median(ratios(plain.rates, other.rates)))
		}
	}
	return nil
}
