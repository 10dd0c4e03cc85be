package usage

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/api"
)

// The error for a wrong flag value says what to write, without Go's own texts.
func TestFlagErrorsSayWhatToWrite(t *testing.T) {
	for _, tt := range []struct{ arg, want string }{
		{"--int=x", `invalid argument "x" for "--int" flag: write a whole number, such as 64`},
		{"--int=1.5", "write a whole number"},
		{"--int=99999999999999999999", "write a smaller number"},
		{"--int64=", "write a whole number"},
		{"--float=x", "write a number, such as 0.5"},
		{"--float=1e999", "write a smaller number"},
		{"--bool=maybe", "write true or false"},
		{"--wait=5", "write a time with its unit, such as 1.5s"},
		{"--wait=x", "write a time with its unit"},
		{"--list=a\"b", "several separated by commas"},
		{"--size=x", "such as 512M"}, // the flag's own text
		{"--span=x", "write a number with a unit"},
	} {
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		f.SetOutput(io.Discard)
		f.Int("int", 0, "")
		f.Int64("int64", 0, "")
		f.Float64("float", 0, "")
		f.Bool("bool", false, "")
		f.Duration("wait", time.Second, "")
		f.StringSlice("list", nil, "")
		f.Var(new(api.Size), "size", "")
		f.Var(new(api.Duration), "span", "")
		err := FlagError(f.Parse([]string{tt.arg}))
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "strconv") ||
			strings.Contains(err.Error(), "time: ") {
			t.Errorf("%s: %v; want %q", tt.arg, err, tt.want)
		}
	}

	if FlagError(nil) != nil {
		t.Error("a mistake where there is none")
	}
}
