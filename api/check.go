package api

// A CheckRequest asks for the findings in a source, without running it.
type CheckRequest struct {
	Language   string `json:"language" doc:"name of the language, or an alias"`
	Source     Bytes  `json:"source" doc:"the program's text"`
	SourceName string `json:"source_name,omitempty" doc:"name of the file; empty: the language's default name"`
}

// Checked holds the findings of a check. They are advice: the sandbox alone is the boundary.
type Checked struct {
	Findings []Finding `json:"findings" doc:"the findings, in the order of the source"`
	Refused  bool      `json:"refused" doc:"whether check=enforce would refuse the source"`
}
