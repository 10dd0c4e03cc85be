package cli

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/agent/caller"
	agentclient "github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/build"
	"github.com/brig-sandbox/brig/rootfs/languages"
	"github.com/brig-sandbox/brig/runtime/bundle"
	"github.com/brig-sandbox/brig/seccomp"
	"github.com/brig-sandbox/brig/service/client"
)

// completionTimeout is how long the shell waits for an agent or a service that is asked for values.
const completionTimeout = 300 * time.Millisecond

// DefaultDataDir is where the agent keeps its images unless the operator says otherwise.
const DefaultDataDir = "/var/lib/brig"

// A valueSource lists the values that a shell offers for a flag or an argument. It starts nothing
// and prints no error: without an answer there are no values.
type valueSource func(ctx context.Context, c *CLI, f *pflag.FlagSet) []string

// flagValues are the values of flags, by name.
var flagValues = map[string]valueSource{
	"language":     languageNames,
	"rootfs":       imageNames,
	"profile":      profileNames,
	"volume":       volumeNames,
	"snapshot":     snapshotRefs,
	"preset":       words("hardened", "light"),
	"mode":         words(string(api.Strict), string(api.Fresh), string(api.Exclusive)),
	"profile-mode": words(string(api.Enforce), string(api.Log)),
	"compare":      words(texts(api.Comparison("").Values())...),
	"log-format":   words("text", "json"),
	"runtime":      words(bundle.Runtimes()...),
}

// argumentValues are the values of arguments, by command. A command that is not here takes files,
// or nothing that could be listed.
var argumentValues = map[string]struct {
	list    valueSource
	maximum int  // arguments that have these values; zero: all
	file    bool // the argument, or one after it, may be a file
}{
	"rootfs build":   {list: recipeValues, maximum: 1},
	"rootfs rm":      {list: imageNames, maximum: 1},
	"rootfs show":    {list: imageNames, maximum: 1},
	"rootfs verify":  {list: imageNames},
	"session exec":   {list: sessionIDs, maximum: 1, file: true},
	"session put":    {list: sessionIDs, maximum: 1, file: true},
	"session get":    {list: sessionIDs, maximum: 1, file: true},
	"session files":  {list: sessionIDs, maximum: 1},
	"session rm":     {list: sessionIDs},
	"session diff":   {list: sessionIDs, maximum: 1},
	"session take":   {list: sessionIDs, maximum: 2},
	"volume rm":      {list: volumeNames},
	"snapshot rm":    {list: snapshotRefs},
	"explain":        {list: runIDs, maximum: 1},
	"profile show":   {list: profileNames, maximum: 1, file: true},
	"profile export": {list: profileNames, maximum: 1, file: true},
	"profile diff":   {list: profileNames, maximum: 2, file: true},
	"completion":     {list: words("bash", "zsh", "fish"), maximum: 1},
}

// completeFlags tells the shell which values the flags and arguments of a command may have.
func (c *CLI) completeFlags(k *cobra.Command) {
	f := k.Flags()
	f.VisitAll(func(g *pflag.Flag) {
		list, listed := flagValues[g.Name]
		name, _ := pflag.UnquoteUsage(g)
		switch {
		case g.NoOptDefVal != "", !listed &&
			(strings.Contains(name, "FILE") || strings.Contains(name, "DIR") || strings.Contains(name, "PATH")):
			return // it has no value, or the shell offers files
		}
		_ = k.RegisterFlagCompletionFunc(g.Name,
			func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
				return c.values(list, f), cobra.ShellCompDirectiveNoFileComp
			}) // fails only for a flag that is not there
	})

	if of, ok := argumentValues[f.Name()]; ok {
		k.ValidArgsFunction = func(_ *cobra.Command, typed []string,
			_ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			directive := cobra.ShellCompDirectiveNoFileComp
			if of.file {
				directive = cobra.ShellCompDirectiveDefault
			}
			if of.maximum > 0 && len(typed) >= of.maximum {
				return nil, directive
			}
			return slices.DeleteFunc(c.values(of.list, f), func(v string) bool { return slices.Contains(typed, v) }), directive
		}
	}
}

func (c *CLI) values(list valueSource, f *pflag.FlagSet) []string {
	if list == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionTimeout)
	defer cancel()
	return list(ctx, c, f)
}

func words(all ...string) valueSource {
	return func(context.Context, *CLI, *pflag.FlagSet) []string { return slices.Clone(all) }
}

// askForValues calls the agent that already runs, if there is one.
func askForValues[T any](c *CLI, f *pflag.FlagSet, ask func(a *agentclient.Client) ([]T, error)) ([]T, bool) {
	socket := cmp.Or(c.Env("BRIG_SOCKET"), caller.DefaultSocket)
	if g := f.Lookup("socket"); g != nil && g.Value.String() != "" {
		socket = g.Value.String()
	}
	a := agentclient.New(socket)
	defer a.Close()
	all, err := ask(a)
	return all, err == nil
}

// languageNames are those of the agent, or else those of the manifests on this host.
func languageNames(ctx context.Context, c *CLI, f *pflag.FlagSet) (names []string) {
	all, ok := askForValues(c, f, func(a *agentclient.Client) ([]api.Language, error) { return a.Languages(ctx) })
	for _, l := range all {
		names = append(names, l.Name)
	}
	if known, err := languages.Load("/etc/brig/languages", nil); !ok && err == nil {
		for _, l := range known.All() {
			names = append(names, l.Name)
		}
	}
	return names
}

// imageNames are those of the agent, or else those of the store of this host.
func imageNames(ctx context.Context, c *CLI, f *pflag.FlagSet) (names []string) {
	all, ok := askForValues(c, f, func(a *agentclient.Client) ([]api.Image, error) { return a.Images(ctx) })
	for _, i := range all {
		names = append(names, i.Names...)
	}
	if stored, err := rootfs.OpenReadOnly(filepath.Join(DefaultDataDir, "images")).List(); !ok && err == nil {
		for _, i := range stored {
			names = append(names, i.Names...)
		}
	}
	return names
}

func profileNames(ctx context.Context, c *CLI, f *pflag.FlagSet) (names []string) {
	all, _ := askForValues(c, f, func(a *agentclient.Client) ([]api.Profile, error) { return a.Profiles(ctx) })
	for _, p := range all {
		names = append(names, p.Name)
	}
	if len(names) == 0 {
		return seccomp.Tiers()
	}
	return names
}

func sessionIDs(ctx context.Context, c *CLI, f *pflag.FlagSet) (ids []string) {
	all, _ := askForValues(c, f, func(a *agentclient.Client) ([]api.Session, error) { return a.Sessions(ctx) })
	for _, s := range all {
		ids = append(ids, s.ID)
	}
	return ids
}

func volumeNames(ctx context.Context, c *CLI, f *pflag.FlagSet) (names []string) {
	all, _ := askForValues(c, f, func(a *agentclient.Client) ([]api.Volume, error) { return a.Volumes(ctx) })
	for _, v := range all {
		names = append(names, v.Name)
	}
	return names
}

// snapshotRefs are the names of snapshots, and the ids of those that have none.
func snapshotRefs(ctx context.Context, c *CLI, f *pflag.FlagSet) (refs []string) {
	all, _ := askForValues(c, f, func(a *agentclient.Client) ([]api.Snapshot, error) { return a.Snapshots(ctx, "") })
	for _, s := range all {
		refs = append(refs, cmp.Or(s.Name, s.ID))
	}
	return refs
}

func recipeValues(context.Context, *CLI, *pflag.FlagSet) []string {
	return slices.Sorted(maps.Keys(build.Recipes()))
}

// runIDs are those of the newest runs of the service.
func runIDs(ctx context.Context, c *CLI, f *pflag.FlagSet) (ids []string) {
	at := cmp.Or(c.Env("BRIG_URL"), ServiceURL)
	if g := f.Lookup("url"); g != nil && g.Value.String() != "" {
		at = g.Value.String()
	}
	page, err := client.New(at, c.Env("BRIG_API_KEY")).History(ctx, client.Filter{Limit: 20})
	if err != nil {
		return nil
	}
	for _, r := range page.Items {
		ids = append(ids, r.ID)
	}
	return ids
}

// texts returns values as text.
func texts[T ~string](values []T) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = string(v)
	}
	return all
}

// ServiceURL is the default address of brig serve.
const ServiceURL = "http://127.0.0.1:8080"
