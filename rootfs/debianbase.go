package rootfs

import "slices"

// What every Debian image has, so that recipes name only what is theirs.

// debianBase are the packages of a tree in which a shell works and times have
// zones.
var debianBase = []string{
	"base-files", "base-passwd", "coreutils", "dash", "debianutils", "diffutils", "findutils",
	"grep", "libc-bin", "mawk", "sed", "tzdata", "tzdata-legacy",
}

// Paths no sandbox needs, and those of them that must stay: the licenses.
var (
	debianExclude = []string{
		"/usr/share/bash-completion/*", "/usr/share/doc/*", "/usr/share/doc-base/*", "/usr/share/gdb/*", "/usr/share/info/*",
		"/usr/share/lintian/*", "/usr/share/locale/*", "/usr/share/man/*", "/usr/share/pixmaps/*",
	}
	debianKeep = []string{"/usr/share/doc/*/copyright"}
)

// debianPrepare does what of the base packages' own scripts a sandbox needs. It
// runs before a recipe's Finish.
const debianPrepare = `
cp "$1/usr/share/base-passwd/passwd.master" "$1/etc/passwd"
cp "$1/usr/share/base-passwd/group.master" "$1/etc/group"
cp "$1/usr/share/libc-bin/nsswitch.conf" "$1/etc/nsswitch.conf"
printf '127.0.0.1 localhost\n::1 localhost\n' >"$1/etc/hosts"
ln -sf /usr/share/zoneinfo/Etc/UTC "$1/etc/localtime"
chroot "$1" ldconfig -X
`

// debianStrip removes what no sandbox needs: the package manager with its caches,
// and the files mmdebstrap copies from this host, which would make two hosts'
// images differ. The list of libraries is made again, with those of a recipe's Finish.
const debianStrip = `
chroot "$1" ldconfig -X
rm -rf "$1"/var/lib/dpkg "$1"/var/lib/apt "$1"/var/cache/* "$1"/var/log/* "$1"/etc/apt "$1"/etc/dpkg \
  "$1"/usr/lib/dpkg "$1"/usr/share/dpkg "$1"/usr/libexec/dpkg "$1"/usr/bin/dpkg* "$1"/usr/bin/update-alternatives \
  "$1"/usr/share/debconf "$1"/usr/share/perl5/Debconf "$1"/usr/share/perl5/Debian "$1"/usr/bin/debconf* "$1"/etc/debconf.conf \
  "$1"/etc/cron.daily "$1"/etc/logrotate.d "$1"/usr/lib/systemd \
  "$1"/etc/hostname "$1"/etc/resolv.conf "$1"/etc/fstab "$1"/etc/machine-id "$1"/tmp/*
find "$1" -xdev -perm /6000 ! -type l -exec chmod ug-s {} +
`

// onBase adds to a recipe what every Debian image has.
func (r Recipe) onBase() Recipe {
	r.Packages = slices.Concat(debianBase, r.Packages)
	r.Exclude = slices.Concat(debianExclude, r.Exclude)
	r.Keep = slices.Concat(debianKeep, r.Keep)
	r.Finish = debianPrepare + debianAlternatives(defaultAlternatives) + r.Finish + debianStrip
	return r
}
