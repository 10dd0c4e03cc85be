package isolation

import (
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// PRC-14: below /proc/self/net a run sees its own empty network namespace, and of the host only
// what docs/threat-model.md says: sums over all namespaces, in files of which the kernel keeps no
// separate version.
func TestHostileNetStatistics(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--max-wall", "10m")
	read := func() map[string]string {
		t.Helper()
		r := harness.Sh(`cd /proc/self/net && for f in *; do [ -f $f ] && echo "FILE $f" && cat $f; done 2>/dev/null`)
		r.Limits = api.Limits{Wall: harness.Slowly(20)}
		files := map[string]string{}
		for _, part := range strings.Split(string(a.MustRun(t, r).Stdout), "FILE ")[1:] {
			name, text, _ := strings.Cut(part, "\n")
			files[name] = text
		}
		return files
	}

	allocated := func(files map[string]string) int {
		t.Helper()
		m := regexp.MustCompile(`(?m)^TCP: .* alloc (\d+) mem`).FindStringSubmatch(files["sockstat"])
		if m == nil {
			t.Fatalf("sockstat is %q", files["sockstat"])
		}
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}

	before := read()
	const sockets = 300 // far more than other processes open and close meanwhile
	for range sockets {
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
	}

	after := read()

	// The page is right: these files do reveal something about the host.
	if more := allocated(after) - allocated(before); more < sockets/2 {
		t.Errorf("sockstat tells %d TCP sockets more for %d of the host's: the threat model says it tells them", more, sockets)
	}

	page, err := os.ReadFile("../../../docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{"sockstat", "softnet_stat", "protocols", "ptype", "psched"} {
		if after[name] == "" {
			t.Errorf("a run does not see %s: the threat model says it does", name)
		}
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/threat-model.md does not name %s", name)
		}
	}

	// The other files are those of a namespace without anything.
	for _, name := range []string{"tcp", "tcp6", "udp", "udp6", "udplite", "raw", "raw6", "icmp", "unix", "packet", "arp"} {
		if text, ok := after[name]; ok && strings.Count(text, "\n") > 1 {
			t.Errorf("%s has more than its heading: %q", name, text)
		}
	}

	if host, err := os.ReadFile("/proc/net/tcp"); err != nil || strings.Count(string(host), "\n") < sockets {
		t.Errorf("the host's own tcp has not the sockets, %v: the test proves nothing", err)
	}

	for name, text := range after {
		for _, one := range interfaces(t) {
			if regexp.MustCompile(`(?m)(^|[\s:])` + regexp.QuoteMeta(one) + `([\s:]|$)`).MatchString(text) {
				t.Errorf("%s names %s of the host: %q", name, one, text)
			}
		}
	}

	for _, line := range strings.Split(after["netstat"]+after["snmp6"], "\n") {
		if n := regexp.MustCompile(`[1-9][0-9]*$`).FindString(line); n != "" && !strings.Contains(line, "Mcast") {
			t.Errorf("a count of what did not happen there: %q", line)
		}
	}
}

// interfaces lists the host's interfaces without the loopback, which a run has as well.
func interfaces(t testing.TB) (names []string) {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		if one.Flags&net.FlagLoopback == 0 {
			names = append(names, one.Name)
		}
	}
	return names
}
