// Package keys keeps, in a directory of one host, the certificate of its engine and the workers that may connect.
package keys

import (
	"bytes"
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/brig-sandbox/brig/batch/jetstream"
	"github.com/brig-sandbox/brig/internal/durable"
	"github.com/brig-sandbox/brig/internal/flock"
	"github.com/brig-sandbox/brig/internal/shareddir"
)

// SystemDir is the directory of root.
const SystemDir = "/var/lib/brig/engine"

// Dir is the directory with the certificate of this host's engine and the workers that may connect, unless
// a flag names another one.
func Dir(named string) (string, error) {
	if named != "" {
		return named, nil
	}
	if os.Geteuid() == 0 {
		return SystemDir, nil
	}
	if dir := os.Getenv("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "brig", "engine"), nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".local", "share", "brig", "engine"), err
}

const (
	workersFile = "workers.json"
	certFile    = "certificate.pem"
)

// A Key is what a worker needs to connect to an engine.
type Key struct {
	Name        string `json:"name"`
	Pool        string `json:"pool"`
	Engine      string `json:"engine"`      // URL
	Seed        string `json:"seed"`        // private key
	Certificate string `json:"certificate"` // of the engine; empty: those that the host trusts
}

// Workers reads the workers that may connect to this host's engine.
func Workers(dir string) ([]jetstream.Worker, error) {
	text, err := os.ReadFile(filepath.Join(dir, workersFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}

	var all []jetstream.Worker
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, workersFile), err)
	}

	for i := range all {
		all[i].Pool = cmp.Or(all[i].Pool, jetstream.DefaultPool)
	}
	return all, nil
}

func writeWorkers(dir string, all []jetstream.Worker) error {
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return durable.Replace(filepath.Join(dir, workersFile), append(text, '\n'), 0o600)
}

// Add makes a key for a worker of a pool, which replaces its earlier one, and writes down its public part.
func Add(dir, name, pool string) (seed string, err error) {
	if err := shareddir.MakePrivate(dir); err != nil {
		return "", err
	}

	unlock, err := lockKeys(dir)
	if err != nil {
		return "", err
	}
	defer unlock()

	seed, public, err := jetstream.NewKey()
	if err != nil {
		return "", err
	}

	all, err := Workers(dir)
	if err != nil {
		return "", err
	}

	all = slices.DeleteFunc(all, func(w jetstream.Worker) bool { return w.Name == name })
	all = append(all, jetstream.Worker{Name: name, Pool: pool, Key: public})
	return seed, writeWorkers(dir, all)
}

// lockKeys keeps other commands from changing the workers until unlock.
func lockKeys(dir string) (unlock func(), err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := flock.Lock(d); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return func() { d.Close() }, nil //nolint:errcheck // it was only read
}

// Remove removes a worker from those that may connect.
func Remove(dir, name string) error {
	unlock, err := lockKeys(dir)
	if err != nil {
		return err
	}
	defer unlock()

	all, err := Workers(dir)
	if err != nil {
		return err
	}

	left := slices.DeleteFunc(slices.Clone(all), func(w jetstream.Worker) bool { return w.Name == name })
	if len(left) == len(all) {
		return fmt.Errorf("there is no worker %q: brig worker-key --list", name)
	}
	return writeWorkers(dir, left)
}

// Certificate returns the certificate of this host's engine with its key, which is made once.
func Certificate(dir string) (tls.Certificate, string, error) {
	name := filepath.Join(dir, certFile)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		if text, err = newCertificate(); err == nil {
			err = errors.Join(shareddir.MakePrivate(dir), durable.Replace(name, text, 0o600))
		}
	}
	if err != nil {
		return tls.Certificate{}, "", err
	}

	pair, err := tls.X509KeyPair(text, text)
	if err != nil {
		return pair, "", fmt.Errorf("%s: %w", name, err)
	}

	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})
	return pair, string(public), nil
}

const certificateLife = 10 * 365 * 24 * time.Hour

// newCertificate makes a certificate that its own key signs, and the key, as PEM.
func newCertificate() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}

	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}

	about := x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: jetstream.ServerName}, DNSNames: []string{jetstream.ServerName},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(certificateLife), // clocks differ
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA:        true, BasicConstraintsValid: true,
	}

	cert, err := x509.CreateCertificate(rand.Reader, &about, &about, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}

	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}

	var out bytes.Buffer
	err = errors.Join(pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		pem.Encode(&out, &pem.Block{Type: "EC PRIVATE KEY", Bytes: private}))
	return out.Bytes(), err
}
