package api

// A CheckRequest asks what is noteworthy in a source, without running it.
type CheckRequest struct {
	Language   string `json:"language" doc:"name of the language, or an alias"`
	Source     Bytes  `json:"source" doc:"the program's text"`
	SourceName string `json:"source_name,omitempty" doc:"name of the file; empty: the language's own name for it"`
}

// Checked is what a check found: advice, as the sandbox alone is the boundary.
type Checked struct {
	Findings []Finding `json:"findings" doc:"what was found, in the order of the source"`
	Refused  bool      `json:"refused" doc:"whether check=enforce would refuse the source"`
}
