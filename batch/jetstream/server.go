package jetstream

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// Messages of an engine are at most this large. NATS advises against more than 8 MiB.
const maxMessage = 8 << 20

// A ServerConfig configures an embedded engine.
type ServerConfig struct {
	Dir    string // for what the server keeps besides messages, which are in memory; it is created
	Memory int64  // most bytes of all messages; zero: 512 MiB
	Log    *slog.Logger

	Pool    string      // of the batch
	Listen  string      // HOST:PORT
	TLS     *tls.Config // required on an address that is not loopback
	Workers []Worker    // that may connect, also those of other pools, which have nothing to do; at least one
}

// A Worker is a worker that may connect.
type Worker struct {
	Name string `json:"name"`
	Pool string `json:"pool"` // the one whose jobs it may take
	Key  string `json:"key"`  // public, the nkey of a user
}

// A Server is an embedded engine. It keeps its messages in memory: what it loses when its process ends is
// released again when the batch is resumed.
type Server struct {
	nats *server.Server
	key  nkeys.KeyPair // of the coordinators in this process
}

// accountName is the account of a pool. Nothing that is sent in one account reaches another one, so that the replies of
// the engine, which it sends to any subject that a request names, stay in the pool.
func accountName(pool string) string { return "BRIG-" + pool }

const startTimeout = 10 * time.Second

// StartServer starts an engine in this process. The caller stops it.
func StartServer(c ServerConfig) (*Server, error) {
	// The coordinator's key has all rights in its account. It is made anew and never leaves this process.
	key, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}

	public, err := key.PublicKey()
	if err != nil {
		return nil, err
	}

	account := server.NewAccount(accountName(c.Pool))
	o := &server.Options{
		ServerName: "brig", JetStream: true, StoreDir: c.Dir, NoSigs: true,
		JetStreamMaxMemory: c.Memory, JetStreamMaxStore: 64 << 20, MaxPayload: maxMessage, MaxPending: 256 << 20,
		Accounts: []*server.Account{account}, Nkeys: []*server.NkeyUser{{Nkey: public, Account: account}},
	}
	if o.JetStreamMaxMemory == 0 {
		o.JetStreamMaxMemory = 512 << 20
	}
	if err := listen(o, c, account); err != nil {
		return nil, err
	}

	s, err := server.NewServer(o)
	if err != nil {
		return nil, fmt.Errorf("start the engine: %w", err)
	}
	if c.Log != nil {
		s.SetLoggerV2(newLogger(c.Log), false, false, false)
	}

	s.Start()
	if !s.ReadyForConnections(startTimeout) {
		s.Shutdown()
		return nil, fmt.Errorf("the engine was not ready after %v", startTimeout)
	}

	// The server has copied the account of the options, and JetStream can be enabled only in the copy of a
	// server that runs.
	running, err := s.LookupAccount(accountName(c.Pool))
	if err == nil {
		err = running.EnableJetStream(nil, nil)
	}
	if err != nil {
		s.Shutdown()
		return nil, fmt.Errorf("start the engine: %w", err)
	}
	return &Server{s, key}, nil
}

// options connect a coordinator in this process.
func (s *Server) options() []nats.Option {
	public, err := s.key.PublicKey()
	if err != nil {
		panic(fmt.Sprintf("a key that was created has no public part: %v", err)) // it had one in StartServer
	}
	return []nats.Option{nats.InProcessServer(s.nats), nats.Nkey(public, s.key.Sign)}
}

// Stop stops the engine and waits for it.
func (s *Server) Stop() {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
}

// Addr is the address at which the engine listens.
func (s *Server) Addr() net.Addr { return s.nats.Addr() }

// listen has a server take connections of workers. Each has the rights of a worker only, and its messages
// are encrypted, except on loopback.
func listen(o *server.Options, c ServerConfig, account *server.Account) error {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return fmt.Errorf("the address %q of the engine is not HOST:PORT", c.Listen)
	}
	if o.Port, err = strconv.Atoi(port); err != nil {
		return fmt.Errorf("the port %q of the engine is not a number", port)
	}
	if o.Port == 0 {
		o.Port = server.RANDOM_PORT
	}

	o.Host = host

	// The server ends the process if it cannot listen. Then the caller could not say why, nor remove what it has made.
	probe, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("the engine cannot listen on %s: %w", c.Listen, err)
	}
	if err := probe.Close(); err != nil {
		return err
	}

	// No name is looked up: what is neither a loopback address nor localhost counts as reachable by
	// others.
	ip := net.ParseIP(host)
	switch local := ip != nil && ip.IsLoopback() || host == "localhost"; {
	case !local && c.TLS == nil:
		return fmt.Errorf("the engine would listen on %s without TLS: programs and hidden tests would be readable on the network", c.Listen)
	case len(c.Workers) == 0:
		return fmt.Errorf("the engine would listen on %s without keys: create one for each worker with brig worker-key NAME",
			c.Listen)
	}

	o.TLSConfig, o.TLS, o.TLSTimeout = c.TLS, c.TLS != nil, 5

	// A worker of another pool may connect too, but to an account of its own: nothing of this batch is
	// there.
	accounts := map[string]*server.Account{c.Pool: account}
	for _, w := range c.Workers {
		if err := errors.Join(CheckName("worker", w.Name), CheckName("pool", w.Pool)); err != nil {
			return err
		}
		if accounts[w.Pool] == nil {
			accounts[w.Pool] = server.NewAccount(accountName(w.Pool))
			o.Accounts = append(o.Accounts, accounts[w.Pool])
		}
		o.Nkeys = append(o.Nkeys,
			&server.NkeyUser{Nkey: w.Key, Account: accounts[w.Pool], Permissions: WorkerPermissions(w.Name, w.Pool)})
	}

	return nil
}
