package api

// A KeptRequest is what a service keeps of the request of a run, for the key that sent it: what one needs to see again
// what was run. It has neither environment variables, which may be secrets, nor the content of files and tests.
type KeptRequest struct {
	Language   string   `json:"language,omitempty" doc:"as in the request"`
	Source     Bytes    `json:"source,omitempty" doc:"the program's text; at most 256 KiB are kept"`
	SourceName string   `json:"source_name,omitempty" doc:"file name of source in /box; absent: the language's default name"`
	Argv       []string `json:"argv,omitempty" doc:"as in the request; left out if over 16 KiB"`
	Flags      []string `json:"flags,omitempty" doc:"as in the request"`
	Stdin      Bytes    `json:"stdin,omitempty" doc:"what the program could read; at most 64 KiB are kept"`
	StdinBlob  string   `json:"stdin_blob,omitempty" doc:"as in the request"`

	Problem  string   `json:"problem,omitempty" doc:"name of the stored problem by which it was judged"`
	Settings *Run     `json:"settings,omitempty" doc:"the other fields of the request, without those of missing: limits, profile, labels and the like; absent: too long, or kept by an older brig"`
	Missing  []string `json:"missing,omitempty" doc:"fields that the request had and that are not kept, or not whole: to run it again they must be sent again"`

	Files []KeptFile `json:"files,omitempty" doc:"files that were sent with it, at most 64"`
	Tests int        `json:"tests,omitempty" doc:"number of tests"`
	Cut   bool       `json:"cut,omitempty" doc:"something was cut or left out"`
}

// A KeptFile is a file of a kept request.
type KeptFile struct {
	Name string `json:"name" doc:"in /box"`
	Size int64  `json:"size,omitempty" doc:"bytes; absent for a blob"`
	Blob string `json:"blob,omitempty" doc:"digest of the blob that it was"`
}
