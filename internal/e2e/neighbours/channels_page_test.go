//go:build channels

package neighbours

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

const channelsPage = "../../../docs/reports/channels.md"

const channelsHead = `# What one run can tell another

` + "`make channels`" + ` writes this page. Two runs of one image try to communicate: they send random
messages with ` + "`testdata/hostile/channel.c`" + `. Each channel is measured three times for each tier and mode,
or twice if one transfer takes seconds. The table has the best result:

- "48 kbit/s, 1 %%" is the number of bits that are received per second while the two runs execute,
  and the part of these bits that is wrong.
- "nothing" means that more than a quarter of the bits are wrong. A guess has half of them wrong.
- "refused" names the call that the tier refuses.

The agent holds no files of images in memory (` + "`--image-memory none`" + `), except in the row that says
so. Linux %s, %d slots.

[threat-model.md](../threat-model.md#what-runs-of-one-image-can-tell-each-other) says what the results
mean.

`

// TestChannels measures every channel under every tier in every mode, and writes docs/reports/channels.md.
func TestChannels(t *testing.T) {
	a, tree := startChannelAgent(t, "2")
	held := startAgentOn(t, a.Data, "--slots", "2")
	health, err := a.Health(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	var b strings.Builder
	fmt.Fprintf(&b, channelsHead, health.Kernel, health.Slots)
	b.WriteString("| through | the two runs | tier | mode `strict` | mode `fresh` | mode `exclusive` |\n|---|---|---|---|---|---|\n")
	row := func(c channel, agent *harness.Agent, what string) {
		tries := 3
		if c.frame > 0 || c.bitsPerPair > 0 { // these take seconds
			tries = 2
		}
		for _, tier := range []string{"strict", "default", "managed"} {
			fmt.Fprintf(&b, "| %s | %s | %s |", what, map[bool]string{true: "one after the other", false: "at the same time"}[c.frame == 0], tier)
			for _, mode := range []api.Mode{api.Strict, api.Fresh, api.Exclusive} {
				fmt.Fprintf(&b, " %s |", c.best(t, agent, tree, api.Run{Profile: tier, Mode: mode}, tries))
			}
			b.WriteString("\n")
		}
	}

	for _, c := range channels {
		row(c, a, c.description)
		if c.cold {
			row(c, held, c.description+"; the agent holds the image")
		}
	}

	t.Log(b.String())
	if err := os.WriteFile(channelsPage, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (h transfer) String() string {
	switch rate := float64(h.bits) / h.took.Seconds(); {
	case h.refused != "":
		return "refused: " + h.refused
	case h.failed():
		return "nothing"
	case rate >= 1000:
		return fmt.Sprintf("%.0f kbit/s, %.0f %%", rate/1000, h.errorRate()*100)
	default:
		return fmt.Sprintf("%.0f bit/s, %.0f %%", rate, h.errorRate()*100)
	}
}

// startAgentOn starts another agent on a store that another agent has filled.
func startAgentOn(t *testing.T, data string, flags ...string) *harness.Agent {
	t.Helper()
	a := harness.Launch(t, harness.PublicDir(t, "brig-e2e-"), data, flags...)
	t.Cleanup(a.Stop)
	return a
}
