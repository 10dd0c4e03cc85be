# shellcheck shell=bash
# What suites with pytest have in common.

# in_clients DIRECTORY NAME=VALUE... -- COMMAND...: runs a command with the files of the suite at /source, where it may
# write, in the image of the clients.
in_clients() {
	local dir=$1 settings=()
	shift
	while [ "$1" != -- ]; do
		settings+=("$1")
		shift
	done
	shift
	mount --bind "$SOURCE" "$CLIENTS/source"
	mount --bind .ci/foreign "$CLIENTS/suites"
	mount --bind /proc "$CLIENTS/proc"
	chroot "$CLIENTS" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/tmp PYTHONDONTWRITEBYTECODE=1 "${settings[@]}" \
		/bin/sh -c 'cd "$0" && exec "$@"' "$dir" "$@"
}

# counted: "PASSED OF" of what pytest said, on standard input. What is left out by a mark or a name does not count.
counted() {
	awk '/^=* ?[0-9]+ (passed|failed|skipped|error)/ || /(passed|failed|error).* in [0-9.]+s/ { line = $0 }
		END {
			while (match(line, /[0-9]+ (passed|failed|skipped|errors?)/)) {
				split(substr(line, RSTART, RLENGTH), part, " ")
				of += part[1]
				if (part[2] == "passed") passed = part[1]
				line = substr(line, RSTART + RLENGTH)
			}
			print passed + 0, of + 0
		}'
}
