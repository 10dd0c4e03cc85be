package api

// EachBlob calls f with each digest that the run names, also in what judges it. f may change it. Where a field is
// left out here, a run may name what belongs to another caller (API-14, TestEveryBlobOfARunIsChecked).
func (r *Run) EachBlob(f func(digest *string)) {
	each := func(digest *string) {
		if *digest != "" {
			f(digest)
		}
	}

	files := func(files []File) {
		for i := range files {
			each(&files[i].Blob)
		}
	}

	each(&r.StdinBlob)
	files(r.Files)
	for i := range r.Tests {
		each(&r.Tests[i].StdinBlob)
		each(&r.Tests[i].ExpectedBlob)
		files(r.Tests[i].Files)
	}

	if r.Check != nil {
		files(r.Check.Files)
	}
	if r.Interactor != nil {
		files(r.Interactor.Files)
	}
}

// Blobs lists the digests of the blobs that the run names.
func (r Run) Blobs() []string {
	var all []string
	r.EachBlob(func(digest *string) { all = append(all, *digest) })
	return all
}
