package main

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

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/batch/jetstream"
	"github.com/brig-sandbox/brig/internal/durable"
	"github.com/brig-sandbox/brig/internal/shareddir"
)

// keysFlag adds the flag with the directory of the engine's keys.
func keysFlag(f *pflag.FlagSet, to *string) {
	f.StringVar(to, "keys", "",
		"`DIRECTORY` of the engine's certificate and the workers that may connect (default: "+systemEngineDir+
			" for root, otherwise brig/engine in $XDG_DATA_HOME)")
}

const systemEngineDir = "/var/lib/brig/engine"

// engineDir is the directory with the certificate of this host's engine and the workers that may connect, unless
// a flag names another one.
func engineDir(named string) (string, error) {
	if named != "" {
		return named, nil
	}
	if os.Geteuid() == 0 {
		return systemEngineDir, nil
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

// A workerKey is what a worker needs to connect to an engine.
type workerKey struct {
	Name        string `json:"name"`
	Pool        string `json:"pool"`
	Engine      string `json:"engine"`      // URL
	Seed        string `json:"seed"`        // private key
	Certificate string `json:"certificate"` // of the engine; empty: those that the host trusts
}

// readWorkers reads the workers that may connect to this host's engine.
func readWorkers(dir string) ([]jetstream.Worker, error) {
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
		all[i].Pool = cmp.Or(all[i].Pool, defaultPool)
	}
	return all, nil
}

// addWorker makes a key for a worker of a pool, which replaces its earlier one, and writes down its public part.
func addWorker(dir, name, pool string) (seed string, err error) {
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

	all, err := readWorkers(dir)
	if err != nil {
		return "", err
	}

	all = slices.DeleteFunc(all, func(w jetstream.Worker) bool { return w.Name == name })
	all = append(all, jetstream.Worker{Name: name, Pool: pool, Key: public})
	return seed, durable.Replace(filepath.Join(dir, workersFile), marshal(all), 0o600)
}

// lockKeys keeps other commands from changing the workers until unlock.
func lockKeys(dir string) (unlock func(), err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(d.Fd()), unix.LOCK_EX); err != nil {
		return nil, errors.Join(os.NewSyscallError("flock", err), d.Close())
	}
	return func() { d.Close() }, nil //nolint:errcheck // it was only read
}

// removeWorker removes a worker from those that may connect.
func removeWorker(dir, name string) error {
	unlock, err := lockKeys(dir)
	if err != nil {
		return err
	}
	defer unlock()

	all, err := readWorkers(dir)
	if err != nil {
		return err
	}

	left := slices.DeleteFunc(slices.Clone(all), func(w jetstream.Worker) bool { return w.Name == name })
	if len(left) == len(all) {
		return fmt.Errorf("there is no worker %q: brig worker-key --list", name)
	}
	return durable.Replace(filepath.Join(dir, workersFile), marshal(left), 0o600)
}

// engineCertificate returns the certificate of this host's engine with its key, which is made once.
func engineCertificate(dir string) (tls.Certificate, string, error) {
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
