package piston

import (
	"slices"

	"github.com/brig-sandbox/brig/service/dialect"
)

// A packaged language is a package of the original, which may have several languages.
type packaged struct {
	name    string
	version version
	runtime runtime // one that can run here, if there is one
}

// packagesOf returns the packages of an agent.
func packagesOf(on dialect.Agent) (all []packaged) {
	for _, rt := range runtimesOf(on) {
		p := packaged{rt.pkg, rt.version(), rt}
		if p.name == "" {
			p.name = rt.id
		}

		i := slices.IndexFunc(all, func(q packaged) bool { return q.name == p.name && q.version.Equal(p.version.Version) })
		switch {
		case i < 0:
			all = append(all, p)
		case rt.installed:
			all[i].runtime = rt
		}
	}
	return all
}

// A listedPackage is one of GET /packages.
type listedPackage struct {
	Language  string `json:"language"`
	Version   string `json:"language_version"`
	Installed bool   `json:"installed"`
}

func planPackages(_ dialect.Request, on dialect.Agent) dialect.Plan {
	list := []listedPackage{}
	for _, p := range packagesOf(on) {
		list = append(list, listedPackage{p.name, p.version.String(), p.runtime.installed})
	}
	return dialect.Refuse(respond(200, list))
}

// An installed package is the answer to the request for one.
type installedPackage struct {
	Language string `json:"language"`
	Version  string `json:"version"`
}

// planInstall installs nothing: images are stored by root, and never on behalf of a client. A package whose image is
// stored is installed, and a client that only makes sure of it goes on.
func planInstall(ask dialect.Request, on dialect.Agent) dialect.Plan {
	p, refusal := findPackage(ask, on)
	switch {
	case refusal != nil:
		return *refusal
	case p.runtime.installed:
		return dialect.Refuse(respond(200, installedPackage{p.name, p.version.String()}))
	}

	command := "brig rootfs build " + p.runtime.on.Image
	if from := p.runtime.on.ImageFrom; from != "" {
		command = "brig rootfs pull " + from + " --name " + p.runtime.on.Image
	}
	return dialect.Refuse(respond(404, said{Message: "Requested package " + p.name + "-" + p.version.String() +
		" is not installed, and no client can install it: have the operator run " + command}))
}

func planUninstall(ask dialect.Request, on dialect.Agent) dialect.Plan {
	p, refusal := findPackage(ask, on)
	if refusal != nil {
		return *refusal
	}

	message := p.name + "-" + p.version.String() + " is not installed"
	if p.runtime.installed {
		message = "no client can uninstall " + p.name + "-" + p.version.String() + ": have the operator run brig rootfs rm " +
			p.runtime.on.Image
	}
	return dialect.Refuse(respond(404, said{Message: message}))
}

// findPackage returns the newest package that a request names.
func findPackage(ask dialect.Request, on dialect.Agent) (best packaged, refusal *dialect.Plan) {
	o, refusal := decode(ask.Body)
	if refusal != nil {
		return best, refusal
	}

	name, _ := text(o["language"])
	wanted, isText := text(o["version"])
	found := false
	for _, p := range packagesOf(on) {
		if p.name == name && isText && p.version.isIn(wanted) && (!found || best.version.LessThan(p.version.Version)) {
			best, found = p, true
		}
	}
	if found {
		return best, nil
	}

	p := dialect.Refuse(respond(404, said{Message: "Requested package " + shown(asText(o["language"])) + "-" +
		shown(asText(o["version"])) + " does not exist"}))
	return best, &p
}
