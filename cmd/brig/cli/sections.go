package cli

import (
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/usage"
)

// The headings of a long --help, with the names of flags below them. A flag is below the first that names it.
var (
	programPart = usage.Section{Heading: "Program", Flags: strings.Fields(
		"code source language rootfs flag free-flag link-flag run-flag env profile profile-mode mode no-template writable-root own-image workdir-alias runtime " +
			"tty interactive resident detach url")}
	limitPart = usage.Section{Heading: "Limits", Flags: append(limitNames(),
		"preset", "exec-memory", "exec-pids", "idle", "life")}
	filePart = usage.Section{Heading: "Files", Flags: strings.Fields(
		"file file-blob collect collect-blobs out force snapshot " +
			"volume volume-size volume-read-only volume-shared volume-temporary data-dir languages")}
	judgePart = usage.Section{Heading: "Judging", Flags: strings.Fields(
		"tests problem compare tolerance input-file output-file check interactor check-protocol check-arg check-file " +
			"passes suite suite-command source-name solution stop-at-failure ignore rerun scale-cpu")}
	jobPart = usage.Section{Heading: "Jobs", Flags: strings.Fields(
		"resume retry ordered strict urgent max-attempts from completions canonical extract no-limits")}
	networkPart = usage.Section{Heading: "Network and packages", Flags: strings.Fields(
		"network allow egress-allow egress-internal packages requirement requirements index " +
			"python-index npm-index gem-index")}
	outputPart = usage.Section{Heading: "Output", Flags: strings.Fields(
		"out json result stats merge-stderr timeline words csv html junit keep keep-output label summary quiet verbose")}
	workerPart = usage.Section{Heading: "Workers", Flags: strings.Fields(
		"key engine creds pool name slots drain local engine-listen keys cache blobs metrics")}
	agentPart = usage.Section{Heading: "Agent", Flags: strings.Fields("wait no-build socket")}

	programSections = []usage.Section{programPart, limitPart, filePart, judgePart, networkPart, outputPart, agentPart}
)

// Sections are those of commands with many flags.
var Sections = map[string][]usage.Section{
	"run":            programSections,
	"grade":          programSections,
	"bundle":         programSections,
	"session create": programSections,
	"session exec":   programSections,
	"batch":          {programPart, limitPart, judgePart, jobPart, networkPart, outputPart, workerPart, agentPart},
	"worker":         {workerPart, networkPart, outputPart, agentPart},
	"serve": {
		{Heading: "Callers", Flags: strings.Fields("listen dialect go-judge-src keys tls-cert tls-key host")},
		{Heading: "Limits", Flags: strings.Fields(
			"queue wait grace max-body max-blob max-problems max-conns max-conns-address max-bodies")},
		networkPart,
		{Heading: "History and batches", Flags: strings.Fields(
			"data-dir history-runs history-bytes history-requests batch-slots batch-keep batch-bytes")},
		{Heading: "Service", Flags: strings.Fields("images user agent-arg engine engine-creds socket config log-format verbose")},
	},
}

func limitNames() (names []string) {
	for _, row := range api.LimitTable() {
		names = append(names, row.Flag())
	}
	return names
}
