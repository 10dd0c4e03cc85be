package run

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/languages"
	"github.com/brig-sandbox/brig/runtime/bundle"
	"github.com/brig-sandbox/brig/seccomp"
)

const bundleUsage = `
Write a run as an OCI bundle, OUT_DIR with config.json and the image's files, that
a plain runtime accepts: the same user, mounts, filter and limits.

A bundle has no limit on wall time and none on output, its three scratch
directories have separate sizes, and the program is PID 1. CMD is a command of the image:
no files are placed. If the profile refuses calls that the runtime itself makes under the
filter (runc: fstatfs and getdents64), the bundle's filter allows them, and brig says so.
OUT_DIR must not exist, and other users must be able to traverse the directories above it.
Give runc a terminal or a pipe as stdin: runc 1.1.5 gives stdin to the user of the container,
also where it is the host's /dev/null.

Usage:
  brig bundle --language NAME [flags] OUT_DIR -- CMD [ARGS...]
  brig bundle --rootfs IMAGE [flags] OUT_DIR -- CMD [ARGS...]

Example:
  sudo brig bundle --language python --memory 64M /srv/hello -- python3 -c 'print(2+2)'
  sudo timeout 30 runc run --bundle /srv/hello hello`

// bundleOptions is the command line of brig bundle.
type bundleOptions struct {
	language, image, profile, preset string
	runtime                          string
	dataDir, languages               string
	limits                           api.Limits
	env                              []string
}

func (o *bundleOptions) register(f *pflag.FlagSet) {
	f.SetInterspersed(false)
	f.StringVarP(&o.language, "language", "l", "", "`NAME` of the language: its image, environment and filter")
	f.StringVar(&o.image, "rootfs", "", "use this stored `IMAGE`, by name or digest")
	f.StringVar(&o.profile, "profile", "", "seccomp profile: `NAME|FILE`")
	f.StringVar(&o.runtime, "runtime", string(bundle.Runc),
		"`NAME` of the runtime that will run the bundle: "+strings.Join(bundle.Runtimes(), " or "))
	f.StringVar(&o.preset, "preset", "", "limits to start from: hardened or light")
	cli.LimitFlags(f, &o.limits, map[string]string{
		"cpu":     "processor time of one process, rounded up to whole seconds, plus 2 s",
		"scratch": "bytes of /box, of /tmp and of /dev/shm",
		"inodes":  "number of files in each of these directories",
		"wall":    "", // an OCI runtime has neither
		"output":  "",

		"address_space": "", // runc would have them itself while it loads the filter, and fail
		"data":          "",
	}, api.OfBoth, api.OfExec, api.OfSession)

	f.StringArrayVarP(&o.env, "env", "e", nil, "set a variable: `K=V` (repeatable)")
	f.StringVar(&o.dataDir, "data-dir", cli.DefaultDataDir, "directory of the image store")
	f.StringVar(&o.languages, "languages", "/etc/brig/languages",
		"directory of language manifests that replace or extend the built-in ones")
}

// BundleCommand makes brig bundle.
func BundleCommand(c *cli.CLI) *cobra.Command {
	o := new(bundleOptions)
	k, f := cli.NewCommand("bundle", bundleUsage)
	o.register(f)
	return c.Does(k, func() int {
		words := f.Args()
		if len(words) > 1 && words[1] == "--" { // flags stop at OUT_DIR, so -- is still there
			words = append(words[:1:1], words[2:]...)
		}
		if len(words) < 2 {
			return c.Hint("bundle", errors.New("brig bundle needs OUT_DIR and, after --, a command"))
		}
		if (o.language == "") == (o.image == "") {
			return c.Hint("bundle", errors.New("brig bundle needs one of --language and --rootfs"))
		}
		if os.Geteuid() != 0 {
			return c.Fail(api.Refuse(api.CodeForbidden,
				"the image store and the ids of a bundle need root: use sudo brig bundle"))
		}

		noteMisplacedFlags(c, f, f.Args())
		if err := o.write(c, words[0], words[1:]); err != nil {
			return c.Fail(err)
		}

		dir := words[0]
		c.Note("wrote %s; try: sudo timeout 30 %s run --bundle %s %s", dir, o.runtime, dir, filepath.Base(dir))
		return 0
	})
}

// write resolves the image, profile and limits of the run, and writes its bundle.
func (o *bundleOptions) write(c *cli.CLI, dir string, argv []string) error {
	env, err := variables(o.env)
	if err != nil {
		return err
	}

	runtime, err := bundle.ParseRuntime(o.runtime)
	if err != nil {
		return err
	}

	var lang languages.Manifest
	if o.language != "" {
		known, err := languages.Load(o.languages, nil)
		if err != nil {
			return err
		}
		if lang, err = known.ByName(strings.ToLower(o.language)); err != nil {
			return api.Refuse(api.CodeNoLanguage, "%w", err)
		}
		o.image = lang.Image
	}

	image, err := o.findImage()
	if err != nil {
		return err
	}
	if len(image.Layers) > 0 {
		return api.Refuse(api.CodeUnsupported,
			"image %s has layers, and a bundle needs one tree: make one with docker export, and import it under another name",
			o.image)
	}

	profile, warnings, err := o.filter(lang)
	if err != nil {
		return err
	}

	noteWarnings(c, o.profile, warnings)
	preset, err := api.Preset(o.preset)
	if err != nil {
		return err
	}

	limits := o.limits.Over(preset).Over(lang.Limits).Over(api.Defaults()).Resolve()
	if err := limits.Validate(); err != nil {
		return err
	}

	all := map[string]string{}
	maps.Copy(all, lang.Env)
	maps.Copy(all, env)
	config := bundle.Config{Args: argv, Env: all, Limits: limits, Profile: profile, Runtime: runtime,
		FullProc: lang.Proc == "full"}
	if err := bundle.FindProgram(image.Path, config); err != nil {
		return o.programError(argv[0], err)
	}

	spec, err := bundle.Spec(config)
	if err != nil {
		return err
	}
	if err := bundle.Write(dir, image.Path, spec); err != nil {
		return err
	}
	if _, added := bundle.WithRuntimeCalls(profile, runtime); len(added) > 0 {
		c.Note("in the bundle, profile %s also allows %s, because %s itself makes these calls under the filter", profile.Name,
			strings.Join(added, " and "), runtime)
	}
	return nil
}

// programError says what to write instead of a command that the image does not have. A bundle takes
// no files of this host: /box is empty at every start.
func (o *bundleOptions) programError(name string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return api.Refuse(api.CodeBadProgram, "%s in image %s is not executable", name, o.image)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
		return api.Refuse(api.CodeNoProgram,
			"image %s has no program %q, and a bundle takes no files of this host: give the text as an argument, "+
				"such as -- python3 -c \"$(cat %[2]s)\", or import an image that has the file", o.image, name)
	}
	return api.Refuse(api.CodeNoProgram, "image %s has no program %q: name a command of the image", o.image, name)
}

// findImage looks the image up. It does not create a missing store.
func (o *bundleOptions) findImage() (rootfs.Image, error) {
	dir := filepath.Join(o.dataDir, "images")
	if _, err := os.Stat(dir); err != nil {
		return rootfs.Image{},
			api.Refuse(api.CodeNoImage, "there is no image store in %s: brig rootfs build or import creates one", o.dataDir)
	}

	store, err := rootfs.Open(dir)
	if err != nil {
		return rootfs.Image{}, err
	}

	image, err := store.Lookup(o.image)
	if errors.Is(err, rootfs.ErrNotFound) {
		return image, api.Refuse(api.CodeNoImage, "%w", err)
	}
	return image, err
}

func (o *bundleOptions) filter(lang languages.Manifest) (seccomp.Profile, []string, error) {
	name := o.profile
	if name == "" {
		name = cmp.Or(lang.Tier, "default")
	}
	return loadProfile(name)
}

// variables parses K=V arguments.
func variables(words []string) (map[string]string, error) {
	out := map[string]string{}
	for _, kv := range words {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" {
			return nil, fmt.Errorf("--env %q: write NAME=VALUE", kv)
		}
		out[k] = v
	}
	return out, nil
}
