package jetstream

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// A Target says which engine to connect to, and as what.
type Target struct {
	Server *Server // in this process; otherwise URL
	URL    string  // such as tls://10.0.0.1:4222; several with commas
	Worker string  // name of the worker; empty: a coordinator
	Pool   string  // of the batch or the worker; empty: only Workers, Pools and Drain are called

	Seed        string // private key of the worker; empty: none
	Certificate string // of the engine, PEM; empty: it has one that the host trusts, or none
	Creds       string // file with NATS credentials; empty: none

	Log *slog.Logger // nil: none
}

// ServerName is the name in the certificate of an engine of brig. Its workers have the certificate itself, so
// that it need not be the name of a host.
const ServerName = "brig-engine"

// NewKey makes the key of a worker. The engine gets the public part, the worker the seed.
func NewKey() (seed, public string, err error) {
	key, err := nkeys.CreateUser()
	if err != nil {
		return "", "", err
	}
	private, err := key.Seed()
	if err != nil {
		return "", "", err
	}
	public, err = key.PublicKey()
	return string(private), public, err
}

func (t Target) options() ([]nats.Option, error) {
	var options []nats.Option
	if t.Server != nil {
		options = append(options, t.Server.options()...)
	}
	if t.Worker != "" { // it may read no other inbox
		options = append(options, nats.CustomInboxPrefix("_INBOX_"+t.Worker))
	}
	if t.Creds != "" {
		options = append(options, nats.UserCredentials(t.Creds))
	}

	if t.Seed != "" {
		key, err := nkeys.FromSeed([]byte(t.Seed))
		if err != nil {
			return nil, fmt.Errorf("the seed of the worker's key: %w", err)
		}
		public, err := key.PublicKey()
		if err != nil {
			return nil, err
		}
		options = append(options, nats.Nkey(public, key.Sign))
	}

	if t.Certificate != "" {
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM([]byte(t.Certificate)) {
			return nil, errors.New("the certificate of the engine is not PEM")
		}
		options = append(options,
			nats.Secure(&tls.Config{RootCAs: roots, ServerName: ServerName, MinVersion: tls.VersionTLS13}))
	}

	return options, nil
}

// Redacted is the URL of an engine without the password in it.
func Redacted(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "(a URL that cannot be read)"
	}
	return u.Redacted()
}

// CheckURL refuses an engine on the network without encryption: it moves programs and hidden tests.
func CheckURL(urls string) error {
	for one := range strings.SplitSeq(urls, ",") {
		scheme, rest, ok := strings.Cut(one, "://")
		host, _, err := net.SplitHostPort(rest[strings.LastIndexByte(rest, '@')+1:])
		ip := net.ParseIP(host)
		local := host == "localhost" || ip != nil && ip.IsLoopback()
		switch {
		case !ok || err != nil || scheme != "nats" && scheme != "tls":
			return fmt.Errorf("%s: write tls://HOST:PORT, or nats://127.0.0.1:PORT on this host",
				Redacted(one))
		case scheme == "nats" && !local:
			return fmt.Errorf("%s: programs and hidden tests would be readable on the network: use tls://",
				Redacted(one))
		}
	}

	return nil
}
