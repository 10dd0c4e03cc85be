package operator

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
)

func (o *Operator) getImages(w http.ResponseWriter, r *http.Request) error {
	health, known, err := o.Agent.Get()
	if known == nil && err != nil {
		return err
	}
	stored, err := o.Config.Agent.Images(r.Context())
	if err != nil {
		return err
	}

	items := imagesOf(known, stored, health.ImagesDamaged, core.CallerOf(r.Context()).SeesAll(), o.site.ImageCommand)
	o.Reply(w, r, http.StatusOK, api.Images{Items: items, Room: health.ImageRoom})
	return nil
}

// imagesOf joins languages and stored images. all: also those that no language names.
func imagesOf(languages []api.Language, stored []api.Image, damaged []string, all bool,
	command func(image, from string) string) []api.LanguageImage {
	named := map[string]api.Image{}
	for _, i := range stored {
		for _, name := range i.Names {
			named[name] = i
		}
	}

	if command == nil {
		command = func(image, _ string) string { return "sudo brig rootfs build " + image }
	}
	out, used := []api.LanguageImage{}, map[string]bool{}
	for _, l := range languages {
		i, has := named[l.Image]
		one := of(i, damaged)
		one.Language, one.Version, one.Image, one.Tier, one.Lacks = l.Name, l.Version, l.Image, l.Tiers(), l.Lacks
		one.Stored = l.Stored && has
		if !one.Stored || one.Damaged || len(l.Lacks) > 0 {
			one.Command = command(l.Image, l.ImageFrom)
		}
		out, used[i.Digest] = append(out, one), true
	}
	slices.SortFunc(out, func(a, b api.LanguageImage) int { return strings.Compare(a.Language, b.Language) })
	if !all {
		return out
	}

	var others []api.LanguageImage
	for _, i := range stored {
		if used[i.Digest] {
			continue
		}
		one := of(i, damaged)
		one.Image, one.Stored = i.Digest, true
		if len(i.Names) > 0 {
			one.Image = i.Names[0]
		}
		others = append(others, one)
	}
	slices.SortFunc(others, func(a, b api.LanguageImage) int {
		return cmp.Or(strings.Compare(a.Image, b.Image), strings.Compare(a.Digest, b.Digest))
	})
	return append(out, others...)
}

// of returns what is known of a stored image; the zero image is not stored.
func of(i api.Image, damaged []string) api.LanguageImage {
	created, err := time.Parse(time.RFC3339, i.Created)
	if err != nil {
		created = time.Time{}
	}
	return api.LanguageImage{Digest: i.Digest, Size: i.Size, Created: created.UTC(),
		Damaged: i.Digest != "" && slices.Contains(damaged, i.Digest)}
}
