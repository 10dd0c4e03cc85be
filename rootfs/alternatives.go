package rootfs

import "fmt"

// alternativesBounds are what the postinsts of all packages of an image may take together. Where
// they want more the build fails: alternatives that could not be written down would be missing.
type alternativesBounds struct {
	MiB, inodes int // of what they write, in memory
	seconds     int
}

// Some write archives of classes or of a compiler's packages beside the links.
var defaultAlternatives = alternativesBounds{MiB: 256, inodes: 50_000, seconds: 300}

// debianAlternatives makes the links of update-alternatives(1), such as libblas.so.3 and
// awk: packages make them in their postinst, and the variant extract runs none.
//
// It expects the packages in $debs and an empty directory of the build in $aside. Each
// postinst that mentions update-alternatives runs in a copy of the tree that is thrown
// away (an overlay whose upper layer is a tmpfs of a bounded size), without network, for at most a minute;
// an update-alternatives of ours there writes down what it is asked for. Only that is
// then done in the tree, by the host's update-alternatives. So a postinst that fails
// half-way, for want of a tool or of a configured package, costs nothing else, and what it
// would write beside the links, such as caches with times in them, is in no image.
//
// Overlays in user namespaces exist since Linux 5.11; update-alternatives --root since
// dpkg 1.20.1 (both are in Debian 11).
func debianAlternatives(b alternativesBounds) string {
	return makeAlternatives + fmt.Sprintf(`unshare --mount --net sh -eu "$aside/run.sh" "$1" "$debs" "$aside" %d %d %d >&2
`, b.MiB, b.inodes, b.seconds)
}

const makeAlternatives = `
cat >"$aside/run.sh" <<'ALTERNATIVES'
tree=$1 debs=$2 aside=$3 mib=$4 inodes=$5 end=$(($(date +%s) + $6))
mount -t tmpfs -o "size=${mib}m,nr_inodes=$inodes" tmpfs "$aside"
mkdir "$aside/upper" "$aside/work" "$aside/copy"
mount -t overlay -o "lowerdir=$tree,upperdir=$aside/upper,workdir=$aside/work" overlay "$aside/copy" || {
  echo "running what packages do for update-alternatives needs overlays in user namespaces: Linux 5.11 or newer" >&2
  exit 1
}
mkdir -p "$aside/copy/dev" "$aside/copy/tmp" "$aside/copy/usr/bin"
: >"$aside/copy/dev/null"
mount --bind /dev/null "$aside/copy/dev/null"
rm -f "$aside/copy/usr/bin/update-alternatives"
# One word a line, an empty line behind each call; 9 is the list of calls.
cat >"$aside/copy/usr/bin/update-alternatives" <<'RECORD'
#!/bin/sh
case " $* " in *" --install "*) ;; *) exit 0 ;; esac
{
  for word; do case $word in --quiet) ;; *) printf '%s\n' "$word" ;; esac; done
  echo
} >&9
RECORD
chmod 755 "$aside/copy/usr/bin/update-alternatives"
# What a postinst calls beside it has no effect here: it is there so that none stops for it.
for name in deb-systemd-helper deb-systemd-invoke dpkg-maintscript-helper dpkg-statoverride dpkg-trigger \
  invoke-rc.d py3compile systemctl ucf ucfr update-mime update-rc.d; do
  [ -e "$aside/copy/usr/bin/$name" ] || [ -e "$aside/copy/usr/sbin/$name" ] || {
    printf '#!/bin/sh\n' >"$aside/copy/usr/bin/$name"
    chmod 755 "$aside/copy/usr/bin/$name"
  }
done
for deb in "$debs"/*.deb; do
  dpkg-deb --ctrl-tarfile "$deb" | tar -xO ./postinst >"$aside/copy/tmp/postinst" 2>/dev/null || continue
  grep -q update-alternatives "$aside/copy/tmp/postinst" || continue
  name=${deb##*/}
  left=$((end - $(date +%s)))
  [ $left -gt 0 ] || {
    echo "the postinsts of the packages take more than $6 seconds, and ${name%%_*} comes still: leave out what takes long, or take fewer packages" >&2
    exit 1
  }
  [ $left -lt 60 ] || left=60
  chmod 755 "$aside/copy/tmp/postinst"
  # The end of the pid namespace ends what it leaves behind.
  DPKG_MAINTSCRIPT_PACKAGE=${name%%_*} DPKG_MAINTSCRIPT_NAME=postinst DPKG_ROOT= DEBIAN_FRONTEND=noninteractive \
    unshare --pid --fork --kill-child timeout -k 1 $left chroot "$aside/copy" /tmp/postinst configure '' \
    9>>"$aside/calls" </dev/null || echo "postinst of ${name%%_*} ends with $?: its alternatives up to there are made"
  room=$(stat -f -c '%a %d' "$aside")
  case $room in 0\ * | *\ 0)
    echo "the postinst of ${name%%_*} writes more than the $mib MiB or $inodes files that all have together, so no alternatives can be made after it: leave the package out" >&2
    exit 1
    ;;
  esac
done
[ -e "$aside/calls" ] || exit 0
set --
while IFS= read -r word; do
  if [ -n "$word" ]; then
    set -- "$@" "$word"
    continue
  fi
  # A package's own words: update-alternatives --install LINK NAME PATH PRIORITY ...; the PATH
  # may be among what a recipe leaves out.
  [ ! -e "$tree$4" ] && [ ! -L "$tree$4" ] || update-alternatives --root "$tree" --quiet "$@"
  set --
done <"$aside/calls"
ALTERNATIVES
`
