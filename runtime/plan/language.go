package plan

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"strings"

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
	imageEnv map[string]string  // of the image's configuration
	packages *rootfs.PackageSet // that its programs find; nil: none
}

// env returns the variables of a run: those of the image, and over them those of the language.
func (l Language) env(interactive bool) map[string]string {
	env := l.over(l.Env)
	if interactive {
		maps.Copy(env, l.InteractiveEnv)
	}
	return env
}

// over returns the variables of the image, and over them others.
func (l Language) over(env map[string]string) map[string]string {
	all := maps.Clone(l.imageEnv)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, env)
	return all
}

// setImage takes over what the image says of its environment.
func (l *Language) setImage(img rootfs.Image) {
	for _, e := range img.Config.Env {
		name, value, _ := strings.Cut(e, "=")
		if l.imageEnv == nil {
			l.imageEnv = map[string]string{}
		}
		l.imageEnv[name] = value
	}
}

func (pl *Planner) language(r api.Run) (Language, error) {
	if r.Language == "" {
		return Language{}, nil
	}
	l, err := pl.Languages.ByName(r.Language)
	if err != nil {
		return Language{}, api.Refuse(api.CodeNoLanguage, "%w", err)
	}
	if r.Image != "" { // the same language in another image
		l.Image = r.Image
	}
	return Language{Manifest: l, Limits: l.Limits, FullProc: l.Proc == "full"}, nil
}

// image finds the stored image of a run.
func (pl *Planner) image(ctx context.Context, r api.Run, l Language) (rootfs.Image, error) {
	name := cmp.Or(r.Image, l.Image)
	img, err := pl.Images.Lookup(name)
	if errors.Is(err, rootfs.ErrNotFound) && name == l.Image && l.ImageFrom != "" {
		return img, api.Refuse(api.CodeNoImage, "image %s of language %s is not stored: %s", name, l.Name, languages.ImageHint(name, l.ImageFrom))
	}
	if errors.Is(err, rootfs.ErrNotFound) || errors.Is(err, rootfs.ErrName) {
		return img, api.Refuse(api.CodeNoImage, "%w", err)
	}
	if err != nil || r.Language == "" {
		return img, err
	}
	err = l.CheckImage(ctx, img)
	if errors.Is(err, languages.ErrOutdated) {
		err = api.Refuse(api.CodeNoImage, "%w", err)
	}
	return img, err
}
