// Package serve has the commands of the service, and those that call it.
package serve

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

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/service"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/dialect/catalog"
	"github.com/brig-sandbox/brig/service/history"
	"github.com/brig-sandbox/brig/service/identity"
	"github.com/brig-sandbox/brig/service/operator"
	"github.com/brig-sandbox/brig/service/problems"
)

const serveUsage = `
Serve brig over HTTP: run code, store the history, show statistics.

Anybody who can reach the address can run programs, so without keys only loopback
addresses and unix sockets are allowed. When started as root, the service takes the
address, starts an agent if none answers, builds the images of the languages in --images,
gives up root, and only then answers requests.

Every flag can be set in the file named with --config (YAML, with the same names) and in
the environment (BRIG_SERVE_QUEUE=10 for --queue). Flags take precedence over the
environment, and the environment over the file. SANDBOX_PORT=9000 is short for
--listen 127.0.0.1:9000.

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
	maxBody, maxBlob, maxProblems, historyBytes  api.Size
	historyRequests                              bool
	network                                      string
	egressAllow, egressInternal                  []string
	packages                                     bool
	indexes                                      map[api.PackageKind]*string
	batchSlots                                   int
	batchKeep                                    time.Duration
	batchBytes                                   api.Size
	engine, engineCreds                          string
	dialects                                     []string
	goJudgeSrc                                   string
	logFormat                                    string
	verbose                                      bool
	inForce                                      []api.Setting
}

// Command makes brig serve.
func Command(c *cli.CLI) *cobra.Command {
	d := core.Config{}.WithDefaults()
	o := serveOptions{maxBody: d.MaxBody, maxBlob: d.MaxBlob, maxProblems: d.MaxProblems,
		historyBytes: history.DefaultBytes, batchBytes: d.BatchBytes}
	k, f := cli.NewCommand("serve", serveUsage)
	f.StringVar(&o.listen, "listen", "127.0.0.1:8080", "`ADDRESS` to listen on: host:port, or unix:/path")
	f.StringVar(&o.keys, "keys", "", "`FILE` of keys; callers must have one of them")
	f.StringVar(&o.cert, "tls-cert", "", "`FILE` of the certificate chain, in PEM")
	f.StringVar(&o.key, "tls-key", "", "`FILE` of its private key, in PEM")
	f.StringSliceVar(&o.hosts, "host", nil,
		"`NAME` that callers may use for the service, in addition to localhost (repeatable; default: any, if --keys is set)")
	f.StringSliceVar(&o.images, "images", []string{"python"},
		"`LANGUAGES` whose images are built (by root) and warmed up before requests are answered")
	f.IntVar(&o.queue, "queue", 256, "maximum requests that wait for a slot; 0: requests do not wait")
	f.DurationVar(&o.wait, "wait", d.Wait, "maximum time that a request waits for a slot")
	f.DurationVar(&o.grace, "grace", d.Grace, "how long runs may continue when the service stops")
	f.Var(&o.maxBody, "max-body", "largest request")
	f.Var(&o.maxBlob, "max-blob", "largest blob, and largest package of a problem")
	f.Var(&o.maxProblems, "max-problems", "maximum total size of the stored problems of all keys, below --data-dir")
	f.IntVar(&o.conns, "max-conns", d.MaxConns, "maximum concurrent connections")
	f.IntVar(&o.connsEach, "max-conns-address", d.MaxConnsPerAddr,
		"maximum connections of one remote address; addresses of this host have no such limit")
	f.IntVar(&o.bodies, "max-bodies", d.MaxBodies,
		"maximum concurrent uploads of request bodies and downloads of session files; a key gets an eighth, unless its line sets bodies")
	f.StringArrayVar(&o.dialects, "dialect", nil,
		"`NAME[=ADDRESS]` of a foreign dialect that is answered below /NAME/, or at an address of its own (repeatable): "+
			strings.Join(catalog.Names(), ", "))
	f.StringVar(&o.goJudgeSrc, "go-judge-src", "",
		"`DIR` of this host whose files clients of go-judge may name by their absolute paths (src), to read them; a key needs "+
			"host_files: true in its line")
	o.networkFlags(f)
	o.packageFlags(f)
	f.StringVar(&o.dataDir, "data-dir", "/var/lib/brig-gateway", "`DIR` of the history, the problems and the batches, of one service only")
	f.IntVar(&o.historyRuns, "history-runs", history.DefaultRuns,
		"maximum runs in the history, of all keys together; beyond it the oldest runs of the key that has most are removed")
	f.Var(&o.historyBytes, "history-bytes", "approximate maximum size of the history")
	f.BoolVar(&o.historyRequests, "history-requests", true,
		"keep in the history what was run, for the key that sent it (GET /v1/runs/{id}?with=request): source, stdin, arguments, flags "+
			"and names of files of runs, and nothing of execs in sessions")
	f.IntVar(&o.batchSlots, "batch-slots", 0,
		"slots that jobs of batches use at once (default: all but one, which is left to other requests)")
	f.DurationVar(&o.batchKeep, "batch-keep", d.BatchKeep, "how long a batch stays after its end")
	f.Var(&o.batchBytes, "batch-bytes", "maximum size of all batches below --data-dir, with their results")
	f.StringVar(&o.engine, "engine", "",
		"`URL` of an engine whose workers the page Machines and GET /v1/machines show, for keys with admin to drain; runs of the "+
			"service do not go there")
	f.StringVar(&o.engineCreds, "engine-creds", "", "`FILE` with the NATS credentials for --engine")
	f.StringVar(&o.user, "user", "",
		"`USER` to run as when started as root (default: brig-gateway if that user exists, else uid "+
			fmt.Sprint(identity.FallbackID)+")")
	f.StringArrayVar(&o.agentArgs, "agent-arg", nil,
		"`FLAG` for an agent that brig serve starts, such as --agent-arg=--slots=4 (repeatable)")
	cli.SocketVar(f, &o.socket)
	f.StringVar(&o.config, "config", "", "`FILE` of settings")
	f.StringVar(&o.logFormat, "log-format", "text", "`FORMAT` of the log, and of the messages at start: text, or json")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "also log the agent's own id of each run, and connections that broke")
	return c.Does(k, func() int {
		given := flagsGiven(f)
		if port := c.Env("SANDBOX_PORT"); port != "" && c.Env("BRIG_SERVE_LISTEN") == "" && !f.Changed("listen") {
			_, err := strconv.ParseUint(port, 10, 16)
			if err != nil {
				err = errors.New("write a port, a number below 65536")
			} else {
				err = f.Set("listen", net.JoinHostPort("127.0.0.1", port)) // before the file, which has lower precedence
			}
			if err != nil {
				return c.Hint("serve", fmt.Errorf("SANDBOX_PORT=%.40q: %w", port, err))
			}
		}

		if err := applySettings(c, f, "BRIG_SERVE_", os.Environ(), o.config); err != nil {
			return c.Hint("serve", err)
		}
		if f.NArg() > 0 {
			return c.Hint("serve", fmt.Errorf("unexpected argument %q", f.Arg(0)))
		}

		indexesOf(c, &o)
		o.inForce = inForce(c, f, given)
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()

		switch o.logFormat {
		case "text":
		case "json":
			jsonConsole := *c
			lines := &logLines{to: c.Stderr}
			defer lines.flush()
			jsonConsole.Stderr, c = lines, &jsonConsole
		default:
			return c.Hint("serve", fmt.Errorf("--log-format %q: write text, or json", o.logFormat))
		}

		if err := runService(ctx, c, stop, o); err != nil {
			if lines, ok := c.Stderr.(*logLines); ok {
				lines.level = slog.LevelError
			}
			return c.Fail(err)
		}

		return 0
	})
}

// runService starts the service, serves until ctx is done, and stops it.
func runService(ctx context.Context, c *cli.CLI, stop func(), o serveOptions) (err error) {
	// 1. Check the options before anything is made.
	keys, config, err := o.check()
	if err != nil {
		return err
	}

	allow, internal, err := o.egressRules()
	if err != nil {
		return err
	}

	indexes, err := o.checkIndexes()
	if err != nil {
		return err
	}
	if keys != nil {
		defer keys.Close()
	}

	prefixes, foreign, err := o.findDialects()
	if err != nil {
		return err
	}

	runAs, err := identity.Choose(o.user)
	if err != nil {
		return err
	}

	// 2. Take the addresses. No request is answered yet.
	ln, err := o.listenOn()
	if err != nil {
		return err
	}
	defer ln.Close()

	listeners, err := listenForDialects(foreign)
	if err != nil {
		return err
	}
	defer func() { _ = closeListeners(listeners) }() // of a service that has begun, its servers have closed them

	// 3. Find an agent, or start one as root, and build the missing images, which needs root too.
	agent, err := c.ConnectAs(o.socket, runAs.UID, o.privateAgentArgs()...)
	if err != nil {
		return err
	}
	defer agent.Close()

	if err := checkOtherAgents(ctx, agent, o.agentArgs); err != nil {
		return err
	}

	languages, err := findLanguages(ctx, agent, o.images)
	if err != nil {
		return agent.Explain(err)
	}
	if !agent.Private() { // images take minutes: report now what would fail after them
		if err := runAs.CanUse(agent.Socket); err != nil {
			return err
		}
	}
	if !agent.Private() && len(o.agentArgs) > 0 {
		c.Note("--agent-arg has no effect: an agent already answers at %s: pass %s to that agent when it is started",
			agent.Socket, strings.Join(o.agentArgs, " "))
	}
	if err := prewarm(ctx, c, agent, languages); err != nil {
		return agent.Explain(err)
	}
	if err := prepareInstallers(ctx, c, agent, languages, o); err != nil {
		return agent.Explain(err)
	}
	if err := runAs.TakeDataDir(o.dataDir); err != nil {
		return err
	}

	asRoot := os.Geteuid() == 0
	dirLock, err := identity.LockDataDir(o.dataDir)
	if err != nil {
		return identity.WithDirRemedy(err, o.dataDir, runAs.UID, asRoot)
	}
	defer dirLock.Close()

	// 4. Give up root for good. The agent identifies a caller by the user that connected, so no
	// connection that root made may be left.
	agent.Client.Close()
	setTimerSlack()
	if err := runAs.Drop(agent.Socket); err != nil {
		return err
	}
	if keys != nil && keys.Replaceable() != nil {
		entered := unix.Access(filepath.Dir(o.keys), unix.X_OK) == nil
		c.Note("uid %d cannot open %s: keys that are written into this file are valid at once, those of a file that "+
			"replaces it only after a restart: %s", runAs.UID, o.keys, keysRemedy(o.keys, entered, runAs.UID, runAs.GID))
	}

	store, err := history.Open(ctx, filepath.Join(o.dataDir, identity.HistoryFile),
		history.RetentionLimits{Runs: o.historyRuns, Bytes: o.historyBytes})
	if err != nil {
		return identity.WithDirRemedy(err, o.dataDir, runAs.UID, asRoot)
	}
	defer func() { err = errors.Join(err, store.Close()) }()

	level := slog.LevelInfo
	if o.verbose {
		level = slog.LevelDebug
	}

	var log *slog.Logger
	if lines, ok := c.Stderr.(*logLines); ok {
		log = slog.New(slog.NewJSONHandler(lines.to, &slog.HandlerOptions{Level: level}))
	} else {
		log = slog.New(slog.NewTextHandler(c.Stderr, &slog.HandlerOptions{Level: level}))
	}

	problemsAt, err := filepath.Abs(filepath.Join(o.dataDir, identity.ProblemsDir))
	if err != nil {
		return err
	}

	settings := core.Config{
		Agent: agent.Client, History: store, KeepRequests: o.historyRequests, Keys: keys, TLS: config, Version: c.Version, Log: log,
		QueuePlaces: o.queue, Wait: o.wait, MaxBody: o.maxBody, MaxBlob: o.maxBlob, MaxBodies: o.bodies, MaxConns: o.conns,
		MaxConnsPerAddr: o.connsEach, Grace: max(o.grace, 1), Names: o.hosts,
		Packages: o.packages, Indexes: indexes,
		Network: o.network, EgressAllow: allow, EgressInternal: internal,
		Sessions: filepath.Join(o.dataDir, identity.SessionsFile),
		Problems: problemsAt, MaxProblems: o.maxProblems,
		Batches: filepath.Join(o.dataDir, identity.BatchesDir), BatchSlots: o.batchSlots, BatchKeep: o.batchKeep,
		BatchBytes: o.batchBytes,
	}

	src, err := o.openGoJudgeSrc(runAs.UID)
	if err != nil {
		return err
	}
	defer src.Close()

	site := operator.Site{Settings: o.inForce, ImageCommand: imageCommand, Doctor: askDoctor(agent.Socket)}
	if pool := newEnginePool(o.engine, o.engineCreds, log); pool != nil {
		site.Pool = pool
		defer pool.Close()
	}

	g, err := service.New(ctx, service.Config{Config: settings, ReadProblem: problems.Confined(problemsAt), Dialects: prefixes,
		HostFiles: src, Site: site})
	if err != nil {
		return err
	}

	// 5. Serve requests. A second signal ends the process at once.
	limitProcessors(c)
	limitMemory(c, g.MaxMemory())
	served, done := context.WithCancel(context.WithoutCancel(ctx))
	var keeping sync.WaitGroup
	keeping.Go(func() { tuneGC(served, c) })
	defer keeping.Wait()
	defer done()

	fmt.Fprintf(c.Stderr, "brig serves %s; open %s in a browser\n", ln.Addr(), o.url(ln.Addr()))
	for _, l := range listeners {
		fmt.Fprintf(c.Stderr, "brig answers as %s at %s\n", l.Dialect.Of, l.Addr())
	}
	if o.keys != "" && config == nil && !o.allLocal(foreign) {
		c.Note("keys and programs are sent over the network unencrypted: set --tls-cert and --tls-key, or put a proxy with TLS in front")
	}

	ctx, unwatch := agent.CancelOnEnd(ctx)
	defer unwatch()

	quiet := context.AfterFunc(ctx, func() {
		stop()
		if lost, is := errors.AsType[*api.Error](context.Cause(ctx)); is {
			log.Error("the agent ended: the service stops", "err", lost)
			return
		}
		c.Note("stopping: runs may continue for %v; a second signal ends them at once", o.grace)
	})

	defer quiet()

	err = g.Serve(ctx, ln, listeners...)
	if lost, is := errors.AsType[*api.Error](context.Cause(ctx)); is {
		return errors.Join(lost, err)
	}
	return err
}

// check refuses options that cannot work, or that would let strangers in.
func (o serveOptions) check() (keys *auth.Keys, config *tls.Config, err error) {
	if o.keys != "" {
		if keys, err = auth.ReadKeys(o.keys); err != nil {
			return nil, nil, err
		}
	}
	if err := o.checkExposure(); err != nil {
		return nil, nil, err
	}
	if (o.cert == "") != (o.key == "") {
		return nil, nil, errors.New("--tls-cert and --tls-key need each other: set both")
	}
	if o.cert != "" {
		pair, err := tls.LoadX509KeyPair(o.cert, o.key)
		if err != nil {
			return nil, nil, fmt.Errorf("read the certificate: %w", err)
		}
		config = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}

	return keys, config, cmp.Or(o.checkLimits(), o.checkHosts(), o.checkEngine())
}

// checkLimits refuses limits that are too small for the service to do anything.
func (o serveOptions) checkLimits() error {
	size := func(n int64) string { return api.Size(n).String() }
	span := func(n int64) string { return time.Duration(n).String() }
	count := func(n int64) string { return fmt.Sprint(n) }
	for _, b := range []struct {
		flag        string
		is, minimum int64
		text        func(int64) string
		why         string
	}{
		{"queue", int64(o.queue), 0, count, "with which no request waits"},
		{"wait", int64(o.wait), int64(time.Millisecond), span, "and with --queue 0 no request waits"},
		{"grace", int64(o.grace), 0, span, "with which runs are ended at once"},
		{"max-body", int64(o.maxBody), int64(api.KiB), size, "because a request with a program must fit"},
		{"max-blob", int64(o.maxBlob), int64(api.KiB), size, "because smaller content is sent with the run"},
		{"max-problems", int64(o.maxProblems), int64(api.MiB), size, "because a package must fit"},
		{"max-conns", int64(o.conns), 1, count, "because otherwise no client can connect"},
		{"max-conns-address", int64(o.connsEach), 1, count, "because otherwise no client can connect"},
		{"max-bodies", int64(o.bodies), 1, count, "because otherwise no client can send a run"},
		{"history-runs", int64(o.historyRuns), 1, count, "because the outcome of a run is read from the history"},
		{"batch-slots", int64(o.batchSlots), 0, count, "with which they use all but one"},
		{"batch-keep", int64(o.batchKeep), int64(time.Minute), span, "because results must stay until they are read"},
		{"batch-bytes", int64(o.batchBytes), int64(api.MiB), size, "because a batch must fit"},
		{"history-bytes", int64(o.historyBytes), int64(api.MiB), size, "because the outcome of a run is read from the history"},
	} {
		if b.is < b.minimum {
			return fmt.Errorf("--%s is %s: the least is %s, %s", b.flag, b.text(b.is), b.text(b.minimum), b.why)
		}
	}

	return nil
}

// checkOtherAgents refuses to start a service whose private agent would reserve memory that another agent has
// reserved: runs of both would be killed for it. A user who divides the memory with --memory may
// start it.
func checkOtherAgents(ctx context.Context, agent *caller.Agent, args []string) error {
	if !agent.Private() || slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--memory") }) {
		return nil
	}
	h, err := agent.Health(ctx)
	if err != nil {
		return agent.Explain(err)
	}
	if h.OtherAgents == 0 {
		return nil
	}
	return api.Refuse(api.CodeConflict,
		"other agents on this host (of another brig serve, or of a running command) reserve %s of memory for their "+
			"runs, and an agent started here would reserve %s as if it were alone: let the services share one brigd "+
			"(start it; use --socket if it is not at %s), or divide the memory with --agent-arg=--memory=SIZE for each", api.Size(h.OtherAgents), api.Size(h.MemoryMax), caller.DefaultSocket)
}

// keysRemedy returns the commands that let the service open a keys file again. entered says that it
// can already enter the file's directory.
func keysRemedy(file string, entered bool, uid, gid int) string {
	if entered {
		return fmt.Sprintf("chgrp %d %s and chmod 640 %[2]s", gid, file)
	}
	dir := filepath.Dir(file)
	return fmt.Sprintf("chgrp %d %s and chmod 750 %[2]s; uid %d must also be able to enter the directories above %[2]s",
		gid, dir, uid)
}
