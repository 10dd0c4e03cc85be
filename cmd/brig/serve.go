package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/gateway"
	"github.com/brig-sandbox/brig/history"
)

const serveUsage = `
Serve brig over HTTP: run code, keep the history, show statistics.

Whoever can reach the address may run programs, so without keys only loopback and
unix sockets are served. Started as root it starts an agent if none answers, builds
the images named with --images, gives up root, and then answers: the address is taken before.

Every flag can be set in the file named with --config (YAML, names as here) and in
the environment (BRIG_SERVE_QUEUE=10 for --queue); flags win over the environment,
the environment over the file. SANDBOX_PORT=9000 is short for --listen 127.0.0.1:9000.

Usage:
  brig serve [flags]

Examples:
  sudo brig serve
  curl -s localhost:8080/execute -H 'Content-Type: application/json' -d '{"code": "print(2+2)"}'
  sudo brig serve --images python,cpp,java --queue 1000
  sudo brig key add teacher
  sudo brig serve --listen 0.0.0.0:8080 --keys /etc/brig/keys.yaml --tls-cert cert.pem --tls-key key.pem`

// serveOptions are the flags of brig serve.
type serveOptions struct {
	config, listen, socket, user, dataDir        string
	keys, cert, key                              string
	hosts, images, agentArgs                     []string
	queue, bodies, conns, connsEach, historyRuns int
	wait, grace                                  time.Duration
	maxBody, maxBlob, historyBytes               api.Size
	logFormat                                    string
	verbose                                      bool
}

func serveCommand(c *console, args []string) int {
	o := serveOptions{maxBody: 64 * api.MiB, maxBlob: 256 * api.MiB, historyBytes: 4 * api.GiB}
	f := c.flags("serve", serveUsage)
	f.StringVar(&o.listen, "listen", "127.0.0.1:8080", "`ADDRESS` to listen on: host:port, or unix:/path")
	f.StringVar(&o.keys, "keys", "", "`FILE` of keys that callers must have one of")
	f.StringVar(&o.cert, "tls-cert", "", "`FILE` of the certificate chain, in PEM")
	f.StringVar(&o.key, "tls-key", "", "`FILE` of its private key, in PEM")
	f.StringSliceVar(&o.hosts, "host", nil, "`NAME` that callers may know the service by, beside localhost (repeatable)")
	f.StringSliceVar(&o.images, "images", []string{"python"}, "`LANGUAGES` whose images are built and warmed before listening")
	f.IntVar(&o.queue, "queue", 256, "most requests that wait for a slot; 0: none does")
	f.DurationVar(&o.wait, "wait", time.Minute, "longest a request waits for a slot")
	f.DurationVar(&o.grace, "grace", 10*time.Second, "on stopping, how long runs may go on")
	f.Var(&o.maxBody, "max-body", "largest request")
	f.Var(&o.maxBlob, "max-blob", "largest blob")
	f.IntVar(&o.conns, "max-conns", 4096, "most connections at a time")
	f.IntVar(&o.connsEach, "max-conns-address", 512, "most of them of one remote address; this host's own have no such bound")
	f.IntVar(&o.bodies, "max-bodies", 256, "most requests at a time whose body is still coming, or file of a session going; of one key an eighth, if its line does not say bodies")
	f.StringVar(&o.dataDir, "data-dir", "/var/lib/brig-gateway", "`DIR` of the history")
	f.IntVar(&o.historyRuns, "history-runs", 100_000, "runs that the history keeps, of all keys together; then the oldest go of the key that has most")
	f.Var(&o.historyBytes, "history-bytes", "most that the history takes up, nearly")
	f.StringVar(&o.user, "user", "", "`USER` to run as when started as root (default: brig-gateway if there is one, else uid "+fmt.Sprint(spareID)+")")
	f.StringArrayVar(&o.agentArgs, "agent-arg", nil, "`FLAG` for an agent that is started, such as --agent-arg=--slots=4 (repeatable)")
	f.StringVar(&o.socket, "socket", "", "`PATH` of the agent's socket (default $BRIG_SOCKET, or "+defaultSocket+")")
	f.StringVar(&o.config, "config", "", "`FILE` of settings")
	f.StringVar(&o.logFormat, "log-format", "text", "`FORMAT` of what is logged, and of what is told at start: text, or json")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "log more")
	if code, done := c.parse(f, args); done {
		return code
	}
	if port := c.env("SANDBOX_PORT"); port != "" && c.env("BRIG_SERVE_LISTEN") == "" && !f.Changed("listen") {
		_, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			err = errors.New("write a port, a number below 65536")
		} else {
			err = f.Set("listen", net.JoinHostPort("127.0.0.1", port)) // now, because the file yields to the environment
		}
		if err != nil {
			return c.hint("serve", fmt.Errorf("SANDBOX_PORT=%.40q: %w", port, err))
		}
	}
	if err := c.settle(f, "BRIG_SERVE_", os.Environ(), o.config); err != nil {
		return c.hint("serve", err)
	}
	if f.NArg() > 0 {
		return c.hint("serve", fmt.Errorf("unexpected argument %q", f.Arg(0)))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch o.logFormat {
	case "text":
	case "json":
		told := *c
		lines := &logLines{to: c.stderr}
		defer lines.flush()
		told.stderr, c = lines, &told
	default:
		return c.hint("serve", fmt.Errorf("--log-format %q: write text, or json", o.logFormat))
	}
	if err := c.serve(ctx, stop, o); err != nil {
		if lines, ok := c.stderr.(*logLines); ok {
			lines.level = slog.LevelError
		}
		return c.fail(err)
	}
	return 0
}

// serve goes from nothing to an answering service, and back.
func (c *console) serve(ctx context.Context, stop func(), o serveOptions) (err error) {
	// 1. What was asked for makes sense, before anything is made.
	keys, config, err := o.check()
	if err != nil {
		return err
	}
	if keys != nil {
		defer keys.Close()
	}
	drop, err := dropTo(o.user)
	if err != nil {
		return err
	}
	// 2. The address is ours; nobody is answered yet.
	ln, err := o.open()
	if err != nil {
		return err
	}
	defer ln.Close()
	// 3. There is an agent, with the images; as root only.
	agent, err := c.connectAs(o.socket, drop.uid, o.agentArgs...)
	if err != nil {
		return err
	}
	defer agent.Close()
	if err := alone(ctx, agent, o.agentArgs); err != nil {
		return err
	}
	languages, err := chosen(ctx, agent, o.images)
	if err != nil {
		return agent.explain(err)
	}
	if agent.private == nil { // images take minutes: what cannot work then is told now
		if err := drop.mayUse(agent.socket); err != nil {
			return err
		}
	}
	if agent.private == nil && len(o.agentArgs) > 0 {
		c.note("--agent-arg has no effect: an agent answers at %s already: give %s to that one where it is started", agent.socket, strings.Join(o.agentArgs, " "))
	}
	if err := c.warm(ctx, agent, languages); err != nil {
		return agent.explain(err)
	}
	if err := drop.own(o.dataDir); err != nil {
		return err
	}
	asRoot := os.Geteuid() == 0
	held, err := holdDir(o.dataDir)
	if err != nil {
		return dirCure(err, o.dataDir, drop.uid, asRoot)
	}
	defer held.Close()
	// 4. Root is gone for good. The agent knows a caller by who connected: no
	// connection of root's may be left.
	agent.Client.Close()
	slacken()
	if err := drop.do(agent.socket); err != nil {
		return err
	}
	if keys != nil && keys.Replaceable() != nil {
		entered := unix.Access(filepath.Dir(o.keys), unix.X_OK) == nil
		c.note("uid %d cannot open %s: keys written into it count at once, those of a file put in its place only after a restart: %s", drop.uid, o.keys, keysCure(o.keys, entered, drop.uid, drop.gid))
	}
	store, err := history.Open(ctx, filepath.Join(o.dataDir, "history.db"), history.Keep{Runs: o.historyRuns, Bytes: o.historyBytes})
	if err != nil {
		return dirCure(err, o.dataDir, drop.uid, asRoot)
	}
	defer func() { err = errors.Join(err, store.Close()) }()

	level := slog.LevelInfo
	if o.verbose {
		level = slog.LevelDebug
	}
	var log *slog.Logger
	if lines, ok := c.stderr.(*logLines); ok {
		log = slog.New(slog.NewJSONHandler(lines.to, &slog.HandlerOptions{Level: level}))
	} else {
		log = slog.New(slog.NewTextHandler(c.stderr, &slog.HandlerOptions{Level: level}))
	}
	made := gateway.Config{
		Agent: agent.Client, History: store, Keys: keys, TLS: config, Version: version, Log: log,
		Places: o.queue, Wait: o.wait, MaxBody: o.maxBody, MaxBlob: o.maxBlob, MaxBodies: o.bodies, MaxConns: o.conns, MaxEach: o.connsEach, Grace: max(o.grace, 1), Names: o.hosts,
		Sessions: filepath.Join(o.dataDir, "sessions"),
	}
	g, err := gateway.New(ctx, made)
	if err != nil {
		return err
	}
	// 5. Whoever may, is answered; a second signal ends at once.
	c.halve()
	c.keepWithin(made.MaxMemory())
	served, done := context.WithCancel(context.WithoutCancel(ctx))
	var keeping sync.WaitGroup
	keeping.Go(func() { c.keepSmall(served) })
	defer keeping.Wait()
	defer done()
	fmt.Fprintf(c.stderr, "brig serves %s; its documentation is at %s\n", ln.Addr(), o.url(ln.Addr()))
	if o.keys != "" && config == nil && !o.local() {
		c.note("keys and programs cross the network in the clear: set --tls-cert and --tls-key, or put a proxy with TLS in front")
	}
	ctx, unwatch := agent.during(ctx)
	defer unwatch()
	quiet := context.AfterFunc(ctx, func() {
		stop()
		if lost, is := errors.AsType[*api.Error](context.Cause(ctx)); is {
			log.Error("THE AGENT ENDED: the service stops", "err", lost)
			return
		}
		c.note("stopping: what runs may go on for %v; a second signal ends it at once", o.grace)
	})
	defer quiet()
	err = g.Serve(ctx, ln)
	if lost, is := errors.AsType[*api.Error](context.Cause(ctx)); is {
		return errors.Join(lost, err)
	}
	return err
}

// check refuses what cannot work, and what would let strangers in.
func (o serveOptions) check() (keys *gateway.Keys, config *tls.Config, err error) {
	if o.keys != "" {
		if keys, err = gateway.ReadKeys(o.keys); err != nil {
			return nil, nil, err
		}
	}
	if err := o.safe(); err != nil {
		return nil, nil, err
	}
	if (o.cert == "") != (o.key == "") {
		return nil, nil, errors.New("--tls-cert and --tls-key belong together: set both")
	}
	if o.cert != "" {
		pair, err := tls.LoadX509KeyPair(o.cert, o.key)
		if err != nil {
			return nil, nil, fmt.Errorf("read the certificate: %w", err)
		}
		config = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	return keys, config, cmp.Or(o.enough(), o.named())
}

// enough refuses bounds with which the service could do nothing.
func (o serveOptions) enough() error {
	size := func(n int64) string { return api.Size(n).String() }
	span := func(n int64) string { return time.Duration(n).String() }
	count := func(n int64) string { return fmt.Sprint(n) }
	for _, b := range []struct {
		flag      string
		is, least int64
		text      func(int64) string
		why       string
	}{
		{"queue", int64(o.queue), 0, count, "with which no request waits"},
		{"wait", int64(o.wait), int64(time.Millisecond), span, "and --queue 0 has no request wait at all"},
		{"grace", int64(o.grace), 0, span, "with which runs are ended at once"},
		{"max-body", int64(o.maxBody), int64(api.KiB), size, "as a request with a program has to fit in"},
		{"max-blob", int64(o.maxBlob), int64(api.KiB), size, "as what is smaller is sent with the run"},
		{"max-conns", int64(o.conns), 1, count, "as else nobody can ask"},
		{"max-conns-address", int64(o.connsEach), 1, count, "as else nobody can ask"},
		{"max-bodies", int64(o.bodies), 1, count, "as else nobody can send a run"},
		{"history-runs", int64(o.historyRuns), 1, count, "as what became of a run is told from the history"},
		{"history-bytes", int64(o.historyBytes), int64(api.MiB), size, "as what became of a run is told from the history"},
	} {
		if b.is < b.least {
			return fmt.Errorf("--%s is %s: the least is %s, %s", b.flag, b.text(b.is), b.text(b.least), b.why)
		}
	}
	return nil
}

// alone refuses to start a service whose own agent promises memory that another's has
// promised: runs of both would be killed for it. Who divides it himself may.
func alone(ctx context.Context, agent *agentHandle, args []string) error {
	if agent.private == nil || slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--memory") }) {
		return nil
	}
	h, err := agent.Health(ctx)
	if err != nil {
		return agent.explain(err)
	}
	if h.Beside == 0 {
		return nil
	}
	return api.Refuse(api.CodeConflict, "other agents on this host, of another brig serve or of a command under way, promise %s of memory to their runs, and one started here %s, as if it were alone: let the services share one brigd (start it; --socket if it is not at %s), or divide the memory with --agent-arg=--memory=SIZE for each", api.Size(h.Beside), api.Size(h.MemoryMax), defaultSocket)
}

// holdDir keeps other services off the directory until the file is closed: one that
// starts ends the sessions it finds there, as those of a service that was killed.
func holdDir(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("%s belongs to another brig serve that is running: stop that one, or choose another directory with --data-dir", dir)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// keysCure is what lets the service open a keys file again; entered: its directory does already.
func keysCure(file string, entered bool, uid, gid int) string {
	if entered {
		return fmt.Sprintf("chgrp %d %s and chmod 640 %[2]s", gid, file)
	}
	dir := filepath.Dir(file)
	return fmt.Sprintf("chgrp %d %s and chmod 750 %[2]s; the directories above %[2]s must let uid %d in, too", gid, dir, uid)
}
