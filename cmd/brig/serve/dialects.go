package serve

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/internal/suggest"
	"github.com/brig-sandbox/brig/service"
	"github.com/brig-sandbox/brig/service/dialect"
	"github.com/brig-sandbox/brig/service/dialect/catalog"
)

// A dialectAddress is a dialect with an address of its own.
type dialectAddress struct {
	dialect.Dialect
	address string
}

// findDialects reads --dialect: the dialects below a prefix of --listen, and those with an address of their own. The
// rules for that address are those of --listen.
func (o serveOptions) findDialects() (prefixes []dialect.Dialect, foreign []dialectAddress, err error) {
	for i, given := range o.dialects {
		name, address, own := strings.Cut(given, "=")
		d, known := catalog.Find(name)
		switch {
		case !known:
			return nil, nil, fmt.Errorf("--dialect %.80q: there is no dialect %.80q%s (brig has %s)", given, name,
				suggest.Text(name, catalog.Names()), strings.Join(catalog.Names(), ", "))
		case slices.Contains(o.dialects[:i], given):
			return nil, nil, fmt.Errorf("--dialect %s is given twice", given)
		case !own:
			prefixes = append(prefixes, d)
			continue
		case address == "":
			return nil, nil, fmt.Errorf("--dialect %s: there is no address after the =: write %s=%s, or %s alone for the path /%s/",
				given, name, d.Address, name, name)
		case address == o.listen:
			return nil, nil, fmt.Errorf("--dialect %s has the address of --listen: write %s alone for the path /%s/ there, or "+
				"choose another address", given, name, name)
		}
		if err := checkExposure("--dialect "+name+"=", address, o.keys); err != nil {
			return nil, nil, err
		}
		foreign = append(foreign, dialectAddress{d, address})
	}
	if err := o.checkGoJudgeSrc(); err != nil {
		return nil, nil, err
	}
	return prefixes, foreign, nil
}

// allLocal reports whether only this host can reach the service and its dialects.
func (o serveOptions) allLocal(foreign []dialectAddress) bool {
	return o.isLocal() && !slices.ContainsFunc(foreign, func(f dialectAddress) bool { return !isLocal(f.address) })
}

// listenForDialects takes the addresses of dialects.
func listenForDialects(foreign []dialectAddress) (all []service.DialectListener, err error) {
	for _, f := range foreign {
		ln, err := listenOn("--dialect "+f.Name+"=ADDRESS", f.address)
		if err != nil {
			return nil, errors.Join(err, closeListeners(all))
		}
		all = append(all, service.DialectListener{Listener: ln, Dialect: f.Dialect})
	}
	return all, nil
}

func closeListeners(all []service.DialectListener) error {
	var errs []error
	for _, l := range all {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}
