package run

import (
	"errors"

	"github.com/spf13/pflag"
)

func (o *runOptions) registerBlobs(f *pflag.FlagSet) {
	f.BoolVar(&o.collectBlobs, "collect-blobs", false,
		"keep the collected files as blobs of the agent: the result has their digests instead of their content")
}

// checkBlobs refuses blobs of which nobody would learn the digests.
func (o *runOptions) checkBlobs() error {
	switch {
	case !o.collectBlobs:
	case o.out != "":
		return errors.New("--collect-blobs and --out exclude each other: the files stay at the agent; leave one out")
	case !o.json && o.result == "":
		return errors.New("--collect-blobs needs a place for the digests: add --json or --result FILE")
	}
	return nil
}
