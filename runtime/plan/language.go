package plan

import (
	"errors"
	"maps"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/languages"
)

// A Language is what a manifest says about running a program; its zero value is
// a run that names an image instead.
type Language struct {
	languages.Manifest
	Limits   api.Limits
	FullProc bool
}

func (l Language) env(interactive bool) map[string]string {
	if !interactive {
		return l.Env
	}
	env := maps.Clone(l.Env)
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, l.InteractiveEnv)
	return env
}

func (pl *Planner) language(r api.Run) (Language, error) {
	if r.Language == "" {
		return Language{}, nil
	}
	l, err := pl.Languages.ByName(r.Language)
	if err != nil {
		return Language{}, api.Refuse(api.CodeNoLanguage, "%w", err)
	}
	return Language{Manifest: l, Limits: l.Limits, FullProc: l.Proc == "full"}, nil
}

// image finds the stored image of a run.
func (pl *Planner) image(r api.Run, l Language) (rootfs.Image, error) {
	name := r.Image
	if r.Language != "" {
		name = l.Image
	}
	img, err := pl.Images.Lookup(name)
	if errors.Is(err, rootfs.ErrNotFound) || errors.Is(err, rootfs.ErrName) {
		return img, api.Refuse(api.CodeNoImage, "%w", err)
	}
	if err != nil || r.Language == "" {
		return img, err
	}
	err = l.CheckImage(img)
	if errors.Is(err, languages.ErrOutdated) {
		err = api.Refuse(api.CodeNoImage, "%w", err)
	}
	return img, err
}
