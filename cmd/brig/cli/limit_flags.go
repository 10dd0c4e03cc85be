package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/usage"
)

// LimitFlags registers a flag for each limit of l whose scope is one of scopes. help replaces the
// help of the table for some; an empty text leaves the flag out.
func LimitFlags(f *pflag.FlagSet, l *api.Limits, help map[string]string, scopes ...api.LimitScope) {
	for _, row := range api.LimitTable() {
		if !slices.Contains(scopes, row.Scope) {
			continue
		}

		text, replaced := help[row.Name]
		switch {
		case !replaced:
			text = row.Help
			if standard := usage.DefaultOf(row); standard != "" {
				text = fmt.Sprintf("%s (default %s)", text, standard)
			}
		case text == "":
			continue
		}

		usage.LimitFlag(f, row, l, row.Flag(), text)
		if flag := f.Lookup(row.Flag()); flag.DefValue == "0s" {
			flag.DefValue = "" // help would print it
		}
	}
}

// RefuseExplicitZero refuses an explicit zero: in a request zero means the default.
func RefuseExplicitZero(f *pflag.FlagSet) error {
	for _, row := range api.LimitTable() {
		flag := f.Lookup(row.Flag())
		if flag == nil || !flag.Changed || flag.Value.String() != "0" {
			continue
		}
		switch row.Field(new(api.Limits)).(type) {
		case *int64, *float64:
			return api.Refuse(api.CodeBadLimits,
				"limit %s is 0: leave it out for the default, or set a larger value", row.Flag())
		}
	}
	return nil
}
