package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/internal/testservice"
)

// certificate creates a self-signed certificate for 127.0.0.1 and the names, and a pool that trusts it.
func certificate(t *testing.T, names ...string) (cert, key string, trust *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	form := &x509.Certificate{SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: names,
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	signed, err := x509.CreateCertificate(rand.Reader, form, form, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}

	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	cert, key, trust = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), x509.NewCertPool()
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: signed}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	parsed, err := x509.ParseCertificate(signed)
	if err != nil {
		t.Fatal(err)
	}

	trust.AddCert(parsed)
	return cert, key, trust
}

func TestGatewayTLS(t *testing.T) {
	a := startAgent(t, sharedFlags...)
	cert, key, trust := certificate(t)
	s, err := testservice.Start(binary(t, "brig"), time.Until(patience()), "--socket", a.socket, "--data-dir", filepath.Join(a.dir, "gateway"),
		"--tls-cert", cert, "--tls-key", key)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := s.Stop(time.Until(patience())); err != nil {
			t.Errorf("%v\n%s", err, s.Log)
		}
	})

	ask := func(c *tls.Config, url string) (int, string, error) {
		web := &http.Client{Transport: &http.Transport{TLSClientConfig: c, DisableKeepAlives: true}}
		res, err := web.Post(url+"/v1/runs", "application/json", strings.NewReader(`{"image":"tiny","argv":["echo","secret"]}`))
		if err != nil {
			return 0, "", err
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		return res.StatusCode, string(text), err
	}

	secure := strings.Replace(s.URL, "http:", "https:", 1)
	if status, text, err := ask(&tls.Config{RootCAs: trust}, secure); err != nil || status != 200 ||
		!strings.Contains(text, `"stdout":"secret\n"`) {
		t.Errorf("%d, %s, %v", status, text, err)
	}
	if status, _, err := ask(&tls.Config{}, secure); err == nil {
		t.Errorf("a client that does not trust the certificate gets %d", status)
	}
	if status, _, err := ask(&tls.Config{RootCAs: trust, MaxVersion: tls.VersionTLS11}, secure); err == nil {
		t.Errorf("TLS 1.1 gets %d", status)
	}
	if status, text, err := ask(nil, s.URL); err != nil || status != 400 || !strings.Contains(text, "HTTPS") {
		t.Errorf("plain HTTP: %d, %q, %v; want an answer that says that it is HTTPS", status, text, err)
	}
}
