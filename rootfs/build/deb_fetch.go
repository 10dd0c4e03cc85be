package build

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A wantedDeb is a package of the build, as described by the archive's signed index.
type wantedDeb struct {
	file   string // apt's file name in its archive directory
	size   int64
	sha256 string
}

// fetchDebs fills the build's package directory, from the cache as far as possible and otherwise
// from the archive. apt runs as the build's user, with its own state, and reads or changes nothing
// of the host's state. The list of packages and the hash of each come from the signed index.
// Downloaded packages are cached even if the build fails or is stopped.
func (b *debianBuild) fetchDebs(ctx context.Context) error {
	if err := b.write("apt.conf", b.aptConfig()); err != nil {
		return err
	}

	b.step("reading the list of packages")
	if _, err := b.apt(ctx, "apt-get", nil, "update"); err != nil {
		return err
	}
	if err := b.leaveOutUnknown(ctx); err != nil {
		return err
	}

	wanted, err := b.wanted(ctx)
	if err != nil {
		return err
	}

	// A tree is larger than its packages, which are compressed, even without what Exclude and Finish remove.
	if err := b.room(totalSize(wanted)); err != nil {
		return err
	}

	missing, err := loadDebs(b.cache, b.dir.file("debs"), wanted)
	if err != nil {
		return err
	}

	for _, d := range wanted {
		if err := b.dir.chown(b.dir.file("debs/" + d.file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}

	if len(missing) == 0 {
		return nil
	}

	all := b.installArgs("--download-only")
	_, err = b.apt(ctx, "apt-get", &downloadProgress{step: b.step, of: missing}, all...)
	return errors.Join(err, saveDebs(b.dir.file("debs"), b.cache))
}

// leaveOutUnknown removes from the packages those that brig adds by itself and the suite does not have.
func (b *debianBuild) leaveOutUnknown(ctx context.Context) error {
	known, err := b.apt(ctx, "apt-cache", nil, "pkgnames", newInTrixie)
	if err != nil {
		return err
	}
	b.recipe.Packages = withoutUnknown(b.recipe.Packages, string(known))
	return nil
}

// withoutUnknown returns packages without the first newInTrixie, unless the names, one in each line, have
// it. One that the recipe names comes later, and stays.
func withoutUnknown(packages []string, names string) []string {
	at := slices.Index(packages, newInTrixie)
	if at < 0 || slices.Contains(strings.Fields(names), newInTrixie) {
		return packages
	}
	return slices.Delete(slices.Clone(packages), at, at+1)
}

// wanted asks apt which packages the build's directory lacks.
func (b *debianBuild) wanted(ctx context.Context) ([]wantedDeb, error) {
	out, err := b.apt(ctx, "apt-get", nil, b.installArgs("-qq", "--print-uris")...)
	if err != nil {
		return nil, err
	}

	var all []wantedDeb
	for line := range strings.Lines(string(out)) {
		d, err := parsePrintedURI(line)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}

	return all, nil
}

// parsePrintedURI reads a line of apt-get --print-uris: 'URI' FILE SIZE SHA256:HEX.
func parsePrintedURI(line string) (wantedDeb, error) {
	f := strings.Fields(line)
	if len(f) == 4 {
		size, err := strconv.ParseInt(f[2], 10, 64)
		sum, ok := strings.CutPrefix(f[3], "SHA256:")
		if err == nil && ok && len(sum) == 64 && strings.HasSuffix(f[1], ".deb") && !strings.Contains(f[1], "/") {
			return wantedDeb{f[1], size, sum}, nil
		}
	}
	return wantedDeb{}, fmt.Errorf("unexpected output of apt-get --print-uris: %q; want an address, a file, its size and its SHA256", line)
}

func (b *debianBuild) installArgs(options ...string) []string {
	return append(append([]string{"install", "--yes"}, options...), b.recipe.Packages...)
}

// aptConfig limits apt to the build's directory. From the host it takes only the settings for
// reaching a mirror.
func (b *debianBuild) aptConfig() string {
	var out strings.Builder
	for _, s := range [][2]string{
		{"Dir::Etc::main", "/dev/null"}, {"Dir::Etc::parts", "/dev/null"},
		{"Dir::Etc::preferences", "/dev/null"}, {"Dir::Etc::preferencesparts", "/dev/null"},
		{"Dir::Etc::sourcelist", b.dir.file("sources.sources")}, {"Dir::Etc::sourceparts", "/dev/null"},
		{"Dir::State", b.dir.file("apt")}, {"Dir::State::status", b.dir.file("status")},
		{"Dir::Cache", b.dir.file("apt")}, {"Dir::Cache::archives", b.dir.file("debs")}, {"Dir::Log", "/dev/null"},
		// The same values as in mmdebstrap, otherwise the two would choose different packages.
		{"APT::Update::Error-Mode", "any"}, {"APT::Install-Recommends", "false"}, {"Acquire::Languages", "none"},
		{"Acquire::ForceHash", "SHA256"}, // for --print-uris, which otherwise prints MD5
		{"APT::Sandbox::User", "root"},   // its user namespace is the sandbox
	} {
		fmt.Fprintf(&out, "%s %q;\n", s[0], s[1])
	}

	for _, opt := range b.aptOptions {
		fmt.Fprintln(&out, opt)
	}
	return out.String()
}

// apt runs a tool of apt as the build's user and returns what it printed.
func (b *debianBuild) apt(ctx context.Context, tool string, watch io.Writer, args ...string) ([]byte, error) {
	var out bytes.Buffer
	output := &tail{w: b.log}
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Stdout, cmd.Stderr = &out, output
	if watch != nil {
		cmd.Stdout = io.MultiWriter(watch, b.log)
	}

	b.confine(cmd)
	cmd.Env = append(cmd.Env, "APT_CONFIG="+b.dir.file("apt.conf"))
	if err := cmd.Run(); err != nil {
		return nil, toolFailed(ctx, tool+" "+args[0], err, output)
	}
	return out.Bytes(), nil
}

// downloadProgress turns the output of apt-get into progress: apt-get prints a line "Get:N ..." when the
// download of a package begins.
type downloadProgress struct {
	step  func(string)
	of    []wantedDeb
	begun int
	line  []byte
}

func (d *downloadProgress) Write(p []byte) (int, error) {
	d.line = append(d.line, p...)

	for {
		line, rest, ok := bytes.Cut(d.line, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		d.line = rest
		if bytes.HasPrefix(line, []byte("Get:")) {
			d.begun++
			d.step(fmt.Sprintf("downloading %d of %d packages, %d MiB together", min(d.begun, len(d.of)),
				len(d.of), totalSize(d.of)>>20))
		}
	}
}

func totalSize(debs []wantedDeb) (sum int64) {
	for _, d := range debs {
		sum += d.size
	}
	return sum
}

// stages are the lines in which mmdebstrap reports its progress, in their order.
var stages = []struct{ says, step string }{
	{"I: extracting archives", "unpacking packages"},
	{"finish.sh", "finishing the tree"},
	{"I: creating tarball", "packing the image"},
}

// A stageProgress turns these lines into progress and passes all output on.
type stageProgress struct {
	io.Writer
	step func(string)
}

func (w stageProgress) Write(p []byte) (int, error) {
	for sc := bufio.NewScanner(bytes.NewReader(p)); sc.Scan(); {
		for _, s := range stages {
			if strings.HasPrefix(sc.Text(), "I: ") && strings.Contains(sc.Text(), s.says) {
				w.step(s.step)
			}
		}
	}
	return w.Writer.Write(p)
}

// waitDelay is how long a stopped tool may keep its pipes open.
const waitDelay = 10 * time.Second
