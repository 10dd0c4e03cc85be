package serve

import (
	"strings"
	"testing"
)

// Settings of the network that cannot work are refused by name, before the service takes its address.
func TestServeNetworkFlags(t *testing.T) {
	for _, tt := range []struct {
		network         string
		allow, internal []string
		says            string // empty: they are accepted
	}{
		{"none", nil, nil, ""},
		{"public", nil, []string{"10.0.0.0/8:3141", "127.0.0.1:8000"}, ""},
		{"allow", []string{"a.test", "*.b.test:8443", "192.0.2.0/24:22"}, nil, ""},
		{"host", nil, nil, `--network "host" does not exist: use none, loopback, allow, public`},
		{"public", []string{"a.test"}, nil, "use --network allow, or leave --egress-allow out"},
		{"allow", []string{"https://a.test"}, nil, "--egress-allow: allow"},
		{"allow", nil, []string{"a.test:80"}, `--egress-internal: "a.test:80": write ADDRESS:PORT`},
		{"allow", nil, []string{"127.0.0.1"}, `--egress-internal: "127.0.0.1": write ADDRESS:PORT`},
	} {
		o := serveOptions{network: tt.network, egressAllow: tt.allow, egressInternal: tt.internal}
		allow, internal, err := o.egressRules()
		if tt.says == "" && (err != nil || len(allow) != len(tt.allow) || len(internal) != len(tt.internal)) {
			t.Errorf("%+v: %v", tt, err)
		}
		if tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%+v: %v", tt, err)
		}
	}

	args := serveOptions{network: "allow", agentArgs: []string{"--slots=4"}}.privateAgentArgs()
	if strings.Join(args, " ") != "--network=allow --slots=4" {
		t.Errorf("a private agent gets %q", args)
	}
}
