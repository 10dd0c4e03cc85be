set -e
false || { echo boom >&2; exit 1; }
