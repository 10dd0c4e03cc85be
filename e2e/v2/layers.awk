# Makes docs/layers.md of the lines "layers|LAYER|CASE|OUTCOME|HOW" of TestLayers.
BEGIN { FS = "|" }
{ sub(/\r$/, "") }
/^brig-v2: exit/ { complete++ }
$1 != "layers" { next }
$3 == "*" { broken[$2] = 1; next }
$2 == "" { if (!($3 in base)) cases[++n] = $3; base[$3] = $4; next }
{
	if (!($2 in seen)) { seen[$2] = 1; layers[++m] = $2 }
	if (base[$3] != "held") next
	if ($4 == "leaked") leaks[$3] = leaks[$3] (leaks[$3] ? "<br>" : "") "**" $2 "**: " $5
	if ($4 == "otherwise") other[$3] = other[$3] (other[$3] ? "<br>" : "") $2 ": " $5
	if ($4 == "broken") { failed++; other[$3] = other[$3] (other[$3] ? "<br>" : "") $2 ": not shown, " $5; next }
	if ($4 == "leaked") { single++; by[$2] = by[$2] " " $3 } else stopped++
	ran[$2]++
}
END {
	if (complete < 2 || !m) { print "layers: a machine did not end by itself" >"/dev/stderr"; exit 1 }
	print "# Layers, one at a time\n"
	print "Written by `make layers`: user-mode Linux, cgroup v2, an agent built with the tag `ablate`, which"
	print "leaves one layer of isolation out at a time and serves nowhere else. A case whose goal is"
	print "reached with a layer left out has that layer alone in its way; every other cell of the matrix is"
	print "a case that at least one other layer stops. \"Another answer\" is a refusal that is not the"
	print "documented one: what the next layer says.\n"
	printf "%d cases, %d layers: %d combinations still stopped, %d not, %d not shown because brig fails.\n\n", n, m, stopped, single, failed
	print "| case | reached when this is left out | another answer when this is left out |\n|---|---|---|"
	for (i = 1; i <= n; i++) {
		c = cases[i]
		if (base[c] == "held") printf "| %s | %s | %s |\n", c, leaks[c] ? leaks[c] : "none: two layers or more", other[c] ? other[c] : "-"
		else printf "| %s | not carried by this machine | - |\n", c
	}
	print "\n## The layers\n\n| left out | cases that then reach their goal |\n|---|---|"
	for (i = 1; i <= m; i++) printf "| %s |%s |\n", layers[i], (broken[layers[i]] ? " (the agent did not end cleanly without it)" : "") (by[layers[i]] ? by[layers[i]] : " none")
}
