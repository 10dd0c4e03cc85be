package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/internal/child"
	"github.com/brig-sandbox/brig/internal/doctor"
	"github.com/brig-sandbox/brig/rootfs/recipes"
	"github.com/brig-sandbox/brig/service/operator"
)

// flagsGiven returns the flags that the command line has set so far.
func flagsGiven(f *pflag.FlagSet) map[string]bool {
	given := map[string]bool{}
	f.Visit(func(g *pflag.Flag) { given[g.Name] = true })
	return given
}

// inForce lists the settings with where each is from; given are those of the command line.
func inForce(c *cli.CLI, f *pflag.FlagSet, given map[string]bool) []api.Setting {
	var all []api.Setting
	f.VisitAll(func(g *pflag.Flag) {
		if g.Hidden {
			return
		}

		s := api.Setting{Name: g.Name, Value: withoutPasswords(g.Value.String()), From: "default"}
		variable := "BRIG_SERVE_" + strings.ToUpper(strings.ReplaceAll(g.Name, "-", "_"))
		switch {
		case given[g.Name]:
			s.From = "flag"
		case c.Env(variable) != "", g.Name == "listen" && c.Env("SANDBOX_PORT") != "":
			s.From = "environment"
		case g.Changed, g.Value.String() != g.DefValue: // a list of the file does not count as changed
			s.From = "file"
		}
		all = append(all, s)
	})
	return all
}

// userOf matches all that may be a user and a password in addresses: better too much than a part of a password.
var userOf = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`://\S*@`) })

// withoutPasswords leaves out who logs in where: an index of packages or an engine may have a password in its address.
func withoutPasswords(value string) string { return userOf().ReplaceAllString(value, "://...@") }

// imageCommand returns the command that stores an image.
func imageCommand(image, from string) string {
	switch {
	case recipes.Has(image):
		return "sudo brig rootfs build " + image
	case from != "":
		return "sudo brig rootfs pull " + from + " --name " + image
	}
	return "sudo brig rootfs import FILE --name " + image
}

// maxDoctor bounds what brig doctor prints.
const maxDoctor = 1 << 20

// askDoctor asks brig doctor as the user of the service, in a process of its own: it tries what it reports, and the
// service is not to be changed by that.
func askDoctor(socket string) func(context.Context) (operator.Doctor, error) {
	return func(ctx context.Context) (operator.Doctor, error) {
		cmd, words := child.Command(ctx, "doctor", nil)
		cmd.Args = append(cmd.Args, "--json", "--socket", socket)
		return doctorOf(cmd, words)
	}
}

// doctorOf runs a command that prints a report of brig doctor.
func doctorOf(cmd *exec.Cmd, words fmt.Stringer) (d operator.Doctor, err error) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return d, err
	}
	if err := cmd.Start(); err != nil {
		return d, fmt.Errorf("start brig doctor: %w", err)
	}
	text, rerr := io.ReadAll(io.LimitReader(out, maxDoctor))
	werr := cmd.Wait() // it exits with 1 if a run could not be trusted

	var report doctor.Report
	if err := json.Unmarshal(text, &report); err != nil || rerr != nil {
		return d, fmt.Errorf("brig doctor did not answer: %w: %s", errors.Join(werr, rerr, err), words)
	}
	d = operator.Doctor{Trusted: report.Trusted, Unknown: report.Unknown}
	for _, c := range report.Checks {
		d.Checks = append(d.Checks, api.HostCheck{Name: c.Name, Status: string(c.Status), Found: c.Found, Why: c.Why, Cure: c.Remedy})
	}
	return d, nil
}
