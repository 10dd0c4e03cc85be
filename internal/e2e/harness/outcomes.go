package harness

import (
	"flag"
)

// Flags of the tests that write reports; every folder takes them.
var (
	OutcomesFile = flag.String("outcomes", "", "write what became of each case of the corpus to this `file`")
	UpdateDocs   = flag.Bool("update-docs", false, "write docs/reports/corpus.md from the cases and the kept outcomes")
)
