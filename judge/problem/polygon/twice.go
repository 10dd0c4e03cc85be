package polygon

// runs notes whether a solution runs twice for each test: by run-count, or without it by the tag run-twice
// (problem-xml-specs, 15.2).
func (r *reader) runs() {
	twice := r.doc.Judging.Runs == 2
	for _, t := range r.doc.Tags {
		twice = twice || r.doc.Judging.Runs == 0 && t.Value == "run-twice"
	}
	if twice {
		r.p.Passes = 2
	}
}

// interactorRuns is 1 if the interactor talks with the solution in the first of two runs only, and zero if it
// talks in all. Packages with run-count list the runs if it is not only the first one.
func (r *reader) interactorRuns() int {
	if r.p.Passes == 2 && r.doc.Judging.Runs == 2 && len(r.doc.Interactor.Runs) < 2 {
		return 1
	}
	return 0
}
