package build

import "fmt"

// alternativesBounds limits what the postinst scripts of all packages of an image may use together.
// If they need more, the build fails: alternatives that could not be recorded would be missing.
type alternativesBounds struct {
	MiB, inodes int // of the files they write, which are in memory
	seconds     int
}

// In addition to the links, some scripts write archives of classes or of a compiler's packages.
var defaultAlternatives = alternativesBounds{MiB: 256, inodes: 50_000, seconds: 300}

// debianAlternatives returns a script that makes the links of update-alternatives(1), such as
// libblas.so.3 and awk. Packages make them in their postinst script, and mmdebstrap's variant
// extract runs no such script.
//
// The script expects the packages in $debs and an empty directory of the build in $aside. Each
// postinst that mentions update-alternatives runs in a temporary copy of the tree (an overlay whose
// upper layer is a tmpfs of bounded size), without network, for at most a minute. There, brig's own
// update-alternatives records the requested links. The host's update-alternatives then makes only
// these links in the tree. So a postinst that fails half-way, because a tool or a configured
// package is missing, has no other effect, and its other files, such as caches that contain times,
// get into no image.
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
  echo "making the links of update-alternatives needs overlays in user namespaces: use Linux 5.11 or newer" >&2
  exit 1
}
mkdir -p "$aside/copy/dev" "$aside/copy/tmp" "$aside/copy/usr/bin"
: >"$aside/copy/dev/null"
mount --bind /dev/null "$aside/copy/dev/null"
rm -f "$aside/copy/usr/bin/update-alternatives"
# One argument per line, and an empty line after each call; descriptor 9 is the list of calls.
cat >"$aside/copy/usr/bin/update-alternatives" <<'RECORD'
#!/bin/sh
case " $* " in *" --install "*) ;; *) exit 0 ;; esac
{
  for word; do case $word in --quiet) ;; *) printf '%s\n' "$word" ;; esac; done
  echo
} >&9
RECORD
chmod 755 "$aside/copy/usr/bin/update-alternatives"
# Other commands that postinst scripts call have no effect here; they exist so that no script fails.
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
    echo "the postinst scripts of the packages take more than $6 seconds, and that of ${name%%_*} has not run yet: leave out slow packages, or use fewer packages" >&2
    exit 1
  }
  [ $left -lt 60 ] || left=60
  chmod 755 "$aside/copy/tmp/postinst"
  # The end of the pid namespace kills the processes that it leaves behind.
  DPKG_MAINTSCRIPT_PACKAGE=${name%%_*} DPKG_MAINTSCRIPT_NAME=postinst DPKG_ROOT= DEBIAN_FRONTEND=noninteractive \
    unshare --pid --fork --kill-child timeout -k 1 $left chroot "$aside/copy" /tmp/postinst configure '' \
    9>>"$aside/calls" </dev/null || echo "postinst of ${name%%_*} failed with $?: only the alternatives that it made before are used"
  room=$(stat -f -c '%a %d' "$aside")
  case $room in 0\ * | *\ 0)
    echo "the postinst of ${name%%_*} exceeds the limit of $mib MiB or $inodes files for all packages together, so the alternatives of later packages cannot be made: leave the package out" >&2
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
  # A package's own words: update-alternatives --install LINK NAME PATH PRIORITY [--slave LINK NAME
  # PATH]...; the PATH, or the directory of a LINK such as a manual page, may be among what a recipe
  # leaves out.
  left=$#
  while [ $left -gt 0 ]; do
    word=$1
    shift
    left=$((left - 1))
    if [ "$word" = --slave ] && [ $left -ge 3 ] && [ ! -d "$tree${1%/*}" ]; then
      shift 3
      left=$((left - 3))
    else
      set -- "$@" "$word"
    fi
  done
  if [ -d "$tree${2%/*}" ] && { [ -e "$tree$4" ] || [ -L "$tree$4" ]; }; then
    update-alternatives --root "$tree" --quiet "$@"
  fi
  set --
done <"$aside/calls"
ALTERNATIVES
`
