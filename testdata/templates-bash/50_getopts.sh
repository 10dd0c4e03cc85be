while getopts "ab:" o; do echo $o $OPTARG; done
set -- -a -b value rest
OPTIND=1
while getopts "ab:" o; do echo $o $OPTARG; done
shift $((OPTIND-1))
echo "$@"
