package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// cpusetWithin refuses processors that the agent may not use.
func (pl *Planner) cpusetWithin(list string) error {
	if list == "" {
		return nil
	}

	cpus, err := ParseCPUs(list)
	if err != nil {
		return api.Refuse(api.CodeBadLimits, "limit cpuset: %w", err)
	}

	for _, c := range cpus {
		if !slices.Contains(pl.CPUs, c) {
			return api.Refuse(api.CodeAboveCeiling,
				"limit cpuset is %q: processor %d is not among this agent's %v", list, c, pl.CPUs)
		}
	}

	return nil
}

// checkCpusetAllowed refuses a caller other than root the processors that the operator has not listed: a
// caller that may choose its processors takes them from runs on other slots. The processors in a
// manifest are the operator's choice.
func (pl *Planner) checkCpusetAllowed(list string, c api.Caller) error {
	if list == "" || c.UID == 0 {
		return nil
	}

	cpus, err := ParseCPUs(list)
	if err != nil {
		return api.Refuse(api.CodeBadLimits, "limit cpuset: %w", err)
	}

	var listed []int
	if pl.Ceiling.Cpuset != "" {
		if listed, err = ParseCPUs(pl.Ceiling.Cpuset); err != nil {
			return err
		}
	}

	for _, n := range cpus {
		if !slices.Contains(listed, n) {
			return api.Refuse(api.CodeAboveCeiling,
				"limit cpuset is %q: this agent allows processor %d only to root: leave cpuset out, or have the "+
					"operator list it (brigd --max-cpuset)", list, n)
		}
	}

	return nil
}

// checkCpusetsAllowed is checkCpusetAllowed for every cpuset in a request.
func (pl *Planner) checkCpusetsAllowed(r api.Run, c api.Caller) error {
	err := pl.checkCpusetAllowed(r.Limits.Cpuset, c)
	if err == nil {
		err = pl.checkCpusetAllowed(r.CompileLimits.Cpuset, c)
	}
	for i := 0; err == nil && i < len(r.Tests); i++ {
		err = pl.checkCpusetAllowed(r.Tests[i].Limits.Cpuset, c)
	}
	return err
}

// ParseCPUs reads a kernel processor list such as "0-1,3".
func ParseCPUs(list string) ([]int, error) {
	var cpus []int
	for part := range strings.SplitSeq(strings.TrimSpace(list), ",") {
		lo, hi, ranged := strings.Cut(part, "-")
		first, err := strconv.Atoi(lo)
		last := first
		if err == nil && ranged {
			last, err = strconv.Atoi(hi)
		}
		if err != nil || first < 0 || last < first || last >= 1024 {
			return nil, fmt.Errorf("processor list %q: write it as 0-1,3", list)
		}
		for c := first; c <= last; c++ {
			cpus = append(cpus, c)
		}
	}

	return cpus, nil
}

// FormatCPUs formats processors as the kernel reads them.
func FormatCPUs(cpus []int) string {
	var b strings.Builder
	for i, c := range cpus {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(c))
	}
	return b.String()
}
