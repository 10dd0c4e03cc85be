package diagnose

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/diagnose/messages"
)

// namedHost matches a host in the errors of runtimes and C libraries, in a URL or after words that only
// stand before one, and its port.
var namedHost = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:https?://|\blookup |ENOTFOUND |EAI_AGAIN |ECONNREFUSED |dial tcp |[Uu]nknownHostException: |resolve host(?: name)?:? ['"]?|onnection to |\bhost=')([A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+)(?::(\d+)\b)?`)
})

// hintOfNetwork replaces the hint that programs have no network, where more is known: the host that the
// program wanted, or what the run's network refused.
func hintOfNetwork(d api.Diagnosis, r api.Result) string {
	if d.Hint != messages.HintNetwork {
		return ""
	}

	if n := r.Network; n != nil && len(n.Refused) > 0 {
		first := n.Refused[0]
		to := fmt.Sprintf("%.100s", first.Name)
		if first.Port != 0 {
			to += ":" + strconv.Itoa(int(first.Port))
		}
		return fmt.Sprintf("the run's network refused %s: %.100s", to, first.Why)
	} else if n != nil {
		return "the host did not answer as expected: check its name and port"
	}

	m := namedHost().FindStringSubmatch(d.Message)
	if m == nil {
		return ""
	}

	entry := m[1]
	if port, err := strconv.ParseUint(m[2], 10, 16); err == nil && !slices.Contains(api.DefaultPorts(), uint16(port)) {
		entry += ":" + m[2]
	}

	rule, err := api.ParseAllow(entry)
	if err != nil || len(entry) > 100 || rule.Prefix.Overlaps(ownAddresses) {
		return ""
	}
	return fmt.Sprintf("a program has no network unless the run asks for one: --allow %s (network and allow in a "+
		"request); or give it its data as a file", entry)
}

// ownAddresses are those of the program's own processes.
var ownAddresses = netip.MustParsePrefix("127.0.0.0/8")
