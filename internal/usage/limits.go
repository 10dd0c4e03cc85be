package usage

import (
	"cmp"
	"strings"

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/api"
)

// LimitFlag registers a flag for one limit of l, whose present value is the flag's default. help
// must say it if it is not zero and not the text of the value.
func LimitFlag(f *pflag.FlagSet, row api.Limit, l *api.Limits, name, help string) {
	switch v := row.Field(l).(type) {
	case *int64:
		f.Int64Var(v, name, *v, help)
	case *float64:
		f.Float64Var(v, name, *v, help)
	case *string:
		f.StringVar(v, name, *v, help)
	case pflag.Value: // a size or a duration
		f.Var(v, name, help)
	}
}

// DefaultOf is the default of a limit in words, for the help of its flag; empty: there is none.
func DefaultOf(row api.Limit) string { return cmp.Or(row.Otherwise, row.Default) }

// Choices lists the values of a flag for people: a, b or c. It is empty if there are none.
func Choices[T ~string](values []T) string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = string(v)
	}
	last := len(all) - 1
	if last < 1 {
		return strings.Join(all, "")
	}
	return strings.Join(all[:last], ", ") + " or " + all[last]
}
