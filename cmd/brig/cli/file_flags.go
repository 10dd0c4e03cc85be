package cli

import (
	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/usage"
)

// FileFlags are the names of the files that programs read and write instead of stdin and stdout.
func FileFlags(f *pflag.FlagSet, r *api.Run) {
	f.StringVar(&r.InputFile, "input-file", "",
		"each test's input is in the file `NAME`, such as input.txt, and stdin is empty")
	f.StringVar(&r.OutputFile, "output-file", "",
		"the file `NAME`, such as output.txt, that the program writes is judged instead of stdout")
}

// Comparisons are the values of --compare.
func Comparisons() string { return usage.Choices(api.Comparison("").Values()) }
