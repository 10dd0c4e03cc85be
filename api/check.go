package api

// A CheckRequest asks what is noteworthy in a source, without running it.
type CheckRequest struct {
	Language   string `json:"language"`
	Source     Bytes  `json:"source"`
	SourceName string `json:"source_name,omitempty"` // empty: the language's own name for it
}

// Checked is what a check found: advice, as the sandbox alone is the boundary.
type Checked struct {
	Findings []Finding `json:"findings"` // in the order of the source
	Refused  bool      `json:"refused"`  // check=enforce would refuse it
}
