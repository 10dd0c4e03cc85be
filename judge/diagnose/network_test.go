package diagnose

import (
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/diagnose/messages"
)

// The hint says which host to ask for, if the error names one.
func TestHintNamesTheHost(t *testing.T) {
	for message, want := range map[string]string{
		`getaddrinfo ENOTFOUND api.example.org`:                                                      "--allow api.example.org (",
		`getaddrinfo EAI_AGAIN api.example.org`:                                                      "--allow api.example.org (",
		`connect ECONNREFUSED 192.0.2.7:5432`:                                                        "--allow 192.0.2.7:5432 (",
		`Get "https://api.example.org:8443/x": dial tcp: lookup api.example.org on 127.0.0.1:53`:     "--allow api.example.org:8443 (",
		`Get "https://api.example.org/x": dial tcp: lookup api.example.org`:                          "--allow api.example.org (",
		`java.net.UnknownHostException: api.example.org`:                                             "--allow api.example.org (",
		`Failed to open TCP connection to api.example.org:80 (getaddrinfo: Name or service unknown)`: "--allow api.example.org (",
		`HTTPSConnectionPool(host='api.example.org', port=443): Max retries exceeded`:                "--allow api.example.org (",
		`curl: (6) Could not resolve host: api.example.org`:                                          "--allow api.example.org (",
		`connect ECONNREFUSED 127.0.0.1:8000`:                                                        "",
		`Temporary failure in name resolution`:                                                       "",
		`in main.py: connection to ` + strings.Repeat("a.", 100) + `org`:                             "",
		`lookup 0x7f.0x1`: "",
	} {
		got := hintOfNetwork(api.Diagnosis{Message: message, Hint: messages.HintNetwork}, api.Result{})
		if want == "" && got != "" || !strings.Contains(got, want) || len(got) > 256 {
			t.Errorf("%s: %q; want %q", message, got, want)
		}
	}

	if got := hintOfNetwork(api.Diagnosis{Message: "lookup a.test", Hint: "another"}, api.Result{}); got != "" {
		t.Errorf("another hint becomes %q", got)
	}

	with := api.Result{Network: &api.NetworkUsage{Refused: []api.NetworkRefusal{{Name: "a.test", Port: 80,
		Why: "port 80 of it is not allowed"}}}}
	if got := hintOfNetwork(api.Diagnosis{Hint: messages.HintNetwork},
		with); got != "the run's network refused a.test:80: port 80 of it is not allowed" {
		t.Errorf("with network: %q", got)
	}

	with.Network.Refused = nil
	got := hintOfNetwork(api.Diagnosis{Message: "lookup a.test", Hint: messages.HintNetwork}, with)
	if !strings.Contains(got, "did not answer") {
		t.Errorf("with network and no refusal: %q", got)
	}
}
