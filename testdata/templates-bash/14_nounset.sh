set -u
echo "$nothing"
echo after
