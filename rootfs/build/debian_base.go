package build

import "slices"

// The common part of all Debian images: a recipe names only what it adds.

// debianBase are the packages that make a shell and time zones work.
var debianBase = []string{
	"base-files", "base-passwd", "coreutils", "dash", "debianutils", "diffutils", "findutils",
	"grep", "libc-bin", "mawk", "sed", "tzdata", newInTrixie,
}

// newInTrixie has time zones with names of old, which tzdata itself has in the suites before trixie.
const newInTrixie = "tzdata-legacy"

// Paths that no sandbox needs, and the exceptions that must stay: the licenses.
var (
	debianExclude = []string{
		"/usr/share/bash-completion/*", "/usr/share/doc/*", "/usr/share/doc-base/*", "/usr/share/gdb/*", "/usr/share/info/*",
		"/usr/share/lintian/*", "/usr/share/locale/*", "/usr/share/man/*", "/usr/share/pixmaps/*",
	}
	debianKeep = []string{"/usr/share/doc/*/copyright"}
)

// debianPrepare does the part of the base packages' maintainer scripts that a sandbox needs. It
// runs before a recipe's Finish.
const debianPrepare = `
cp "$1/usr/share/base-passwd/passwd.master" "$1/etc/passwd"
cp "$1/usr/share/base-passwd/group.master" "$1/etc/group"
nsswitch="$1/usr/share/libc-bin/nsswitch.conf"
[ -e "$nsswitch" ] || nsswitch="$1/usr/share/base-files/nsswitch.conf" # before bookworm
cp "$nsswitch" "$1/etc/nsswitch.conf"
printf '127.0.0.1 localhost\n::1 localhost\n' >"$1/etc/hosts"
ln -sf /usr/share/zoneinfo/Etc/UTC "$1/etc/localtime"
chroot "$1" ldconfig -X
`

// debianStrip removes what no sandbox needs: the package manager with its caches, and the files
// that mmdebstrap copies from the host, which would make the images of two hosts differ. It also
// makes the linker cache again, to include the libraries that a recipe's Finish added.
const debianStrip = `
chroot "$1" ldconfig -X
rm -rf "$1"/var/lib/dpkg "$1"/var/lib/apt "$1"/var/cache/* "$1"/var/log/* "$1"/etc/apt "$1"/etc/dpkg \
  "$1"/usr/lib/dpkg "$1"/usr/share/dpkg "$1"/usr/libexec/dpkg "$1"/usr/bin/dpkg* "$1"/usr/bin/update-alternatives \
  "$1"/usr/share/debconf "$1"/usr/share/perl5/Debconf "$1"/usr/share/perl5/Debian "$1"/usr/bin/debconf* "$1"/etc/debconf.conf \
  "$1"/etc/cron.daily "$1"/etc/logrotate.d "$1"/usr/lib/systemd \
  "$1"/etc/hostname "$1"/etc/resolv.conf "$1"/etc/fstab "$1"/etc/machine-id "$1"/tmp/*
find "$1" -xdev -perm /6000 ! -type l -exec chmod ug-s {} +
`

// withBase adds the common part of all Debian images to a recipe.
func (r Recipe) withBase() Recipe {
	r.Packages = slices.Concat(debianBase, r.Packages)
	r.Exclude = slices.Concat(debianExclude, r.Exclude)
	r.Keep = slices.Concat(debianKeep, r.Keep)
	r.Finish = debianPrepare + debianAlternatives(defaultAlternatives) + r.Finish + debianStrip
	return r
}
