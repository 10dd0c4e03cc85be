package service

import (
	"crypto/tls"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testservice"
)

func TestGatewayTLS(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	cert, key, trust := harness.Certificate(t)
	s, err := testservice.Start(harness.Binary(t, "brig"), time.Until(harness.Patience()), "--socket", a.Socket,
		"--data-dir", filepath.Join(a.Dir, "gateway"),
		"--tls-cert", cert, "--tls-key", key)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := s.Stop(time.Until(harness.Patience())); err != nil {
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
