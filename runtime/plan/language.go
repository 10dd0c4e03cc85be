package plan

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/languages"
)

// A Language is what a manifest says about running a program; its zero value is
// a run that names an image instead.
type Language struct {
	languages.Manifest
	imageEnv map[string]string  // of the image's configuration
	packages *rootfs.PackageSet // that its programs find; nil: none
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
	return Language{Manifest: l}, nil
}

// image finds the stored image of a run.
func (pl *Planner) image(ctx context.Context, r api.Run, l Language) (rootfs.Image, error) {
	name := cmp.Or(r.Image, l.Image)
	img, err := pl.Images.Lookup(name)
	if errors.Is(err, rootfs.ErrNotFound) && name == l.Image && l.ImageFrom != "" {
		return img, api.Refuse(api.CodeNoImage, "image %s of language %s is not stored: %s", name, l.Name,
			languages.ImageHint(name, l.ImageFrom))
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
