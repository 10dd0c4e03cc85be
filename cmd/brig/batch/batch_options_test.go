package batch

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestBatchOptions(t *testing.T) {
	for _, tt := range []struct {
		args, engine string // engine is $BRIG_ENGINE
		want         string // in the error; empty: there is none
	}{
		{args: "jobs.jsonl"},
		{args: "jobs.jsonl --local 3"},
		{args: "jobs.jsonl --local x", want: "write a number of jobs, or none"},
		{args: "jobs.jsonl --local 0", want: "write a number of jobs, or none"},
		{args: "jobs.jsonl --local none", want: "nothing would execute the jobs"},
		{args: "jobs.jsonl --local none", engine: "nats://127.0.0.1:4222"},
		{args: "jobs.jsonl --local none --engine nats://127.0.0.1:4222"},
		{args: "jobs.jsonl --local none --engine-listen 127.0.0.1:4222"},
		{args: "jobs.jsonl --engine nats://10.0.0.1:4222", want: "use tls://"},
		{args: "jobs.jsonl --engine nats://127.0.0.1:4222 --engine-listen 127.0.0.1:4222", want: "use one of them"},
		{args: "jobs.jsonl --creds FILE", want: "--creds is for --engine"},
		{args: "- -o -"},
		{args: "-", want: "say where the results go"},
		{args: "jobs.jsonl -o jobs.jsonl", want: "would replace the jobs"},
		{args: "jobs.jsonl --retry error", want: "add --resume"},
	} {
		var o batchOptions
		f := pflag.NewFlagSet("batch", pflag.ContinueOnError)
		o.register(f, func(name string) string {
			if name == "BRIG_ENGINE" {
				return tt.engine
			}
			return ""
		})

		if err := f.Parse(strings.Fields(tt.args)); err != nil {
			t.Fatal(err)
		}

		switch err := o.check(f); {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.args, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: error %v, want %q", tt.args, err, tt.want)
		}
	}
}
