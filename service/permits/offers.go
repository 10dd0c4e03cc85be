package permits

import (
	"cmp"
	"strings"

	"github.com/brig-sandbox/brig/agent/egress"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
)

// Network refuses a network that is wider than what the operator offers or allows the key: the
// service makes the connections, from the operator's host.
func (pm *Permits) Network(c core.Caller, r api.Run) error {
	if !api.NetworkWithin(r.Network, pm.Config.Network) {
		return api.Refuse(api.CodeForbidden,
			"network %s is not offered by this service, which offers %s at most: leave network out, or have the "+
				"operator offer it (brig serve --network %[1]s)", r.Network, cmp.Or(pm.Config.Network, api.NetworkNone))
	}
	if pm.Config.Keys != nil && !api.NetworkWithin(r.Network, c.Network) {
		return api.Refuse(api.CodeForbidden,
			"this key may not request network %s, but %s at most: leave network out, or have the operator set "+
				"network: %[1]s on the key %[3]s", r.Network, cmp.Or(c.Network, api.NetworkNone), c.Name)
	}
	if len(pm.Config.EgressAllow) == 0 {
		return nil
	}

	rules, err := api.AllowRules(r.Allow)
	if err != nil {
		return err
	}

	for _, rule := range rules {
		if port, ok := egress.Within(rule, pm.Config.EgressAllow); !ok {
			return api.Refuse(api.CodeForbidden,
				"allow %q: port %d of it is not offered by this service, which offers %s: leave it out, or have the "+
					"operator add it (brig serve --egress-allow)", rule, port, listed(pm.Config.EgressAllow))
		}
	}

	return nil
}

// listed lists the first rules, for a message.
func listed(rules []api.AllowRule) string {
	const maximum = 8
	var texts []string
	for _, r := range rules[:min(len(rules), maximum)] {
		texts = append(texts, r.String())
	}
	if len(rules) > maximum {
		texts = append(texts, "and more")
	}
	return strings.Join(texts, ", ")
}

// networkProfile is the profile of runs with network that name none.
const networkProfile = "network"

// UnofferedNetwork returns what the agent offers if it answers and offers less than the service.
func (pm *Permits) UnofferedNetwork() (maximum string, unoffered bool) {
	h, _, err := pm.Agent.Get()
	return cmp.Or(h.Network, api.NetworkNone), err == nil && !api.NetworkWithin(pm.Config.Network, h.Network)
}

// WarnUselessNetworks logs the names of keys that may request more than the service offers.
func (pm *Permits) WarnUselessNetworks() {
	if pm.Config.Keys == nil {
		return
	}

	var names []string
	for _, k := range pm.Config.Keys.List() {
		if !api.NetworkWithin(k.Network, pm.Config.Network) {
			names = append(names, k.Name)
		}
	}

	if len(names) > 0 {
		pm.Log.Warn("network of these keys has no effect beyond what the service offers (brig serve --network)", "keys", names,
			"offered", cmp.Or(pm.Config.Network, api.NetworkNone))
	}
}

// packages refuses packages that the operator does not offer, or not to the key. It returns the
// index, which the operator chooses: the service itself reaches it, and keys share what is installed.
// While a language is unknown, so is the index of its kind, and the public index would answer for the
// operator's own (TestPackagesOfAnUnknownLanguage).
func (pm *Permits) packages(c core.Caller, language string, requirements []string, index string) (string, error) {
	if len(requirements) == 0 {
		return "", nil
	}

	about, err := pm.Agent.PackagesOf(language)
	own := pm.Config.Indexes[about.Kind]
	switch {
	case !pm.Config.OffersPackages(), err == nil && !pm.Config.Packages && own == "":
		return "", api.Refuse(api.CodeUnsupported,
			"requirements: this service installs no packages: use an image that has them, such as language "+
				"python-full, or have the operator offer it (brig serve --packages)")
	case pm.Config.Keys != nil && !c.Packages:
		return "", api.Refuse(api.CodeForbidden,
			"requirements: this key may not have packages installed: leave them out, or have the operator set "+
				"packages: true on the key %s", c.Name)
	case index != "":
		return "", api.Refuse(api.CodeForbidden, "index: the operator of the service chooses the index: leave it out")
	case err != nil:
		return "", err
	}

	_, err = api.ParseRequirements(about.Kind, requirements) // an error in a requirement costs no slot
	return own, err
}

// UnofferedPackages reports whether the agent answers and installs packages for root alone.
func (pm *Permits) UnofferedPackages() bool {
	h, _, err := pm.Agent.Get()
	return pm.Config.OffersPackages() && err == nil && !h.Packages
}
