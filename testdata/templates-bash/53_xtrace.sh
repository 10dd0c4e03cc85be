set -x
echo traced "$@"
