package plan

import (
	"testing"

	"github.com/brig-sandbox/brig/seccomp"
)

// RES-06: a call can be allowed by a rule or by the default.
func TestAllowsAny(t *testing.T) {
	log := seccomp.Answer{Action: seccomp.ActLog}
	rule := func(a seccomp.Answer, args ...seccomp.ArgCond) seccomp.Rule {
		return seccomp.Rule{Names: []string{"read", "keyctl"}, Answer: a, Args: args, Why: "the test's"}
	}
	some := seccomp.ArgCond{Index: 0, Value: 1}
	for _, tt := range []struct {
		name  string
		def   seccomp.Answer
		rules []seccomp.Rule
		want  bool
	}{
		{"nothing", seccomp.Kill(), nil, false},
		{"a rule", seccomp.Kill(), []seccomp.Rule{rule(seccomp.Allow())}, true},
		{"a rule for some arguments", seccomp.Kill(), []seccomp.Rule{rule(seccomp.Allow(), some)}, true},
		{"a rule that logs", seccomp.Kill(), []seccomp.Rule{rule(log)}, true},
		{"the default", log, nil, true},
		{"the default, for what a refusal leaves", log, []seccomp.Rule{rule(seccomp.Kill(), some)}, true},
		{"refused, with an open default", log, []seccomp.Rule{rule(seccomp.Kill())}, false},
	} {
		if got := allowsAny(seccomp.Profile{Default: tt.def, Rules: tt.rules}, "keyctl"); got != tt.want {
			t.Errorf("%s: %v; want %v", tt.name, got, tt.want)
		}
	}
}
