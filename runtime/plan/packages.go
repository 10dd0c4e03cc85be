package plan

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/languages"
	"github.com/brig-sandbox/brig/seccomp"
)

// PackagesDir is where a run finds its packages, and where an installer leaves them.
const PackagesDir = "packages"

// An Install is one installation of a set of packages, decided.
type Install struct {
	Set   rootfs.PackageSet // without what only the installation shows
	Run   *Run              // of the installer
	Links map[string]string // to be added to the set's root
	Have  bool              // the set is stored, and not stale: nothing is to be done
}

// Install plans the installation of a set.
func (pl *Planner) Install(ctx context.Context, r api.PackageRequest, caller api.Caller) (*Install, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}

	as := api.Run{Language: r.Language, Requirements: r.Requirements, Index: r.Index}
	lang, err := pl.language(as)
	if err != nil {
		return nil, err
	}

	image, err := pl.image(ctx, as, lang)
	if err != nil {
		return nil, err
	}

	w, err := pl.wantedPackages(as, lang, image, caller)
	if err != nil {
		return nil, err
	}
	if set, _, err := pl.storedPackages(w); err == nil {
		return &Install{Set: set, Have: true}, nil
	} else if !errors.Is(err, rootfs.ErrNoPackages) {
		return nil, err
	}
	if caller.UID != 0 && !pl.Packages {
		return nil, api.Refuse(api.CodeForbidden,
			"this agent installs packages for root alone: have root install them (brig packages warm), or have the "+
				"operator offer it to all callers (brigd --packages)")
	}

	p, err := pl.installer(lang, w, r.Index)
	if err != nil {
		return nil, err
	}

	set := rootfs.PackageSet{
		Key: w.keys[0], Owner: caller.UID, Language: lang.Name, Kind: string(lang.Packages.Kind),
		Index: w.index.URL, Pinned: w.pinned,
	}
	for _, q := range w.requirements {
		set.Requirements = append(set.Requirements, q.String())
	}
	return &Install{Set: set, Run: p, Links: lang.Packages.Links}, nil
}

// wantedPackages are the packages that a request asks for.
type wantedPackages struct {
	keys         []string // of the caller's own set, and of root's
	requirements []api.Requirement
	index        api.PackageIndex
	installer    rootfs.Image
	pinned       bool
}

// wantedPackages checks the packages of a request.
func (pl *Planner) wantedPackages(r api.Run, lang Language, image rootfs.Image,
	caller api.Caller) (w wantedPackages, err error) {
	p := lang.Packages
	if p == nil {
		return w, api.Refuse(api.CodeBadRequest,
			"packages cannot be installed for language %s: leave requirements out, or use an image that has what the "+
				"program needs", lang.Name)
	}
	if w.requirements, err = api.ParseRequirements(p.Kind, r.Requirements); err != nil {
		return w, err
	}
	if w.index, err = api.ParseIndex(cmp.Or(r.Index, p.Index)); err != nil {
		return w, err
	}

	w.installer, err = pl.Images.Lookup(p.Image)
	if errors.Is(err, rootfs.ErrNotFound) || errors.Is(err, rootfs.ErrName) {
		err = api.Refuse(api.CodeNoImage, "the image that installs packages of %s: %w", lang.Name, err)
	}
	if err != nil {
		return w, err
	}

	w.pinned = true
	for _, q := range w.requirements {
		w.pinned = w.pinned && q.Pinned()
	}

	w.keys = []string{packageKey(w, p, image, caller.UID)}
	if caller.UID != 0 {
		w.keys = append(w.keys, packageKey(w, p, image, 0))
	}
	return w, nil
}

// packageKey is a hash of all that decides what a set contains. The caller relays the installer's
// connections, and so decides what the index answers: a set serves its owner alone, and everybody if
// the owner is root (PKG-06).
func packageKey(w wantedPackages, p *languages.Packages, image rootfs.Image, owner uint32) string {
	var names []string
	for _, q := range w.requirements {
		names = append(names, q.String())
	}

	text, err := json.Marshal(struct {
		Format           int
		Image, Installer string
		Kind             api.PackageKind
		Install          []string
		Tier             string
		Links            map[string]string
		Index            string
		Owner            uint32
		Requirements     []string
	}{packageFormat, image.Digest, w.installer.Digest, p.Kind, p.Install, p.Tier, p.Links, w.index.URL, owner, names})
	if err != nil {
		panic("BUG: " + err.Error())
	}

	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// packageFormat changes when sets are stored in another form.
const packageFormat = 1

// storedPackages finds the set that serves a request. The error wraps rootfs.ErrNoPackages if there is
// none, or if it is stale.
func (pl *Planner) storedPackages(w wantedPackages) (set rootfs.PackageSet, layer rootfs.Layer, err error) {
	for _, key := range w.keys {
		set, layer, err = pl.Images.PackageSet(key)
		if err == nil && set.Stale(time.Now()) {
			err = rootfs.ErrNoPackages
		}
		if !errors.Is(err, rootfs.ErrNoPackages) {
			break
		}
	}
	return set, layer, err
}

// withPackages adds the packages of a request to its image and to the environment of its language.
func (pl *Planner) withPackages(r api.Run, lang *Language, image rootfs.Image,
	caller api.Caller) (rootfs.Image, error) {
	if len(r.Requirements) == 0 {
		return image, nil
	}

	w, err := pl.wantedPackages(r, *lang, image, caller)
	if err != nil {
		return image, err
	}

	set, layer, err := pl.storedPackages(w)
	if errors.Is(err, rootfs.ErrNoPackages) {
		return image, MissingPackages(r.Requirements)
	}
	if err != nil {
		return image, err
	}

	lang.addPackages()
	lang.packages = &set
	return image.WithPackages(layer), nil
}

// MissingPackages is the error for packages that must be installed first.
func MissingPackages(names []string) error {
	return api.Fail(api.CodePackagesMissing,
		"the packages %.200s are not installed: install them (brig packages warm), and send the request again",
		strings.Join(names, " "))
}

// DescribePackages describes a set for callers.
func DescribePackages(s rootfs.PackageSet) api.PackageSet {
	used := s.Used
	if used.IsZero() {
		used = s.Created
	}
	return api.PackageSet{
		Key: s.Key, Language: s.Language, Kind: api.PackageKind(s.Kind), Requirements: s.Requirements,
		Installed: s.Installed, Index: s.Index,
		Owner: s.Owner, Size: s.Size, Files: s.Entries, Created: s.Created.UTC().Format(time.RFC3339),
		Used: used.UTC().Format("2006-01-02T15:04:00Z"),
	}
}

// addPackages adds the variables by which programs find packages.
func (l *Language) addPackages() {
	for _, env := range []*map[string]string{&l.Env, &l.CompileEnv} {
		all := maps.Clone(*env)
		if all == nil {
			all = map[string]string{}
		}
		maps.Copy(all, l.Packages.Environment(cmp.Or(all["PATH"], l.imageEnv["PATH"], SearchPath)))
		*env = all
	}
}

// requirementsFile is the name of the file that the installer reads, in /box.
const requirementsFile = "requirements.txt"

// Above puts the image of the installer above the layer that has the directory /packages.
func (p *Install) Above(place rootfs.Layer) {
	image := p.Run.Cell.Image.WithPackages(place)
	p.Run.Cell.Image, p.Run.Cell.Key.ImageTree = image, TreeOf(image)
}

// installer plans the run of an installer. Its limits are the operator's: the ceilings are for what
// callers request. It writes to /packages, which is a directory of its scratch, and the agent takes what is
// there. A writable root would be an overlay, and the lists of names that an overlay keeps
// for the many files of packages are charged to no group (MEM-46).
func (pl *Planner) installer(lang Language, w wantedPackages, index string) (*Run, error) {
	p := lang.Packages
	about := api.LanguagePackages{Index: p.Index, Hosts: p.Hosts}
	_, hosts, err := about.IndexFor(index)
	if err != nil {
		return nil, err
	}

	ports, err := api.NetworkPorts(api.NetworkAllow, hosts)
	if err != nil {
		return nil, err
	}

	tier := cmp.Or(p.Tier, NetworkTier)
	f, err := pl.cachedPolicy(policyKey{profile: tier, mode: api.Enforce},
		func() (seccomp.Profile, error) { return pl.profile(tier) })
	if err != nil {
		return nil, err
	}

	limits := p.Limits.Over(api.Defaults()).Resolve()
	limits.Memory = min(limits.Memory, pl.Memory/2)
	if err := limits.Validate(); err != nil {
		return nil, err
	}

	var list strings.Builder
	for _, q := range w.requirements {
		list.WriteString(q.ForInstaller(p.Kind) + "\n")
	}

	var from Language
	from.setImage(w.installer)
	run := &Run{
		ID: NewID(), Stage: api.StageRun, Mode: api.Fresh, Once: true,
		Argv: p.Command(requirementsFile, w.index.URL), Env: Environment(from.imageEnv, nil),
		Files:  []api.File{{Name: requirementsFile, Content: api.Bytes(list.String())}},
		Limits: limits, Collect: api.Collect{None: true},
		Cell: cellFor(w.installer, f, false, api.Fresh), Network: &Network{Ports: ports},
	}

	run.Cell.Key.Network, run.Cell.Key.Install = true, true
	return run, nil
}
