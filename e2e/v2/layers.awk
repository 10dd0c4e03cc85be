# Generates docs/layers.md from the lines "layers|LAYER|CASE|OUTCOME|HOW" of TestLayers and from the
# reasons in the file alone: "LAYER CASE why". It fails if a case is stopped by one layer only and
# no line explains that, or if a line explains nothing.
BEGIN {
	while ((getline line <alone) > 0) {
		if (line ~ /^(#|$)/) continue
		split(line, w, " ")
		text = line
		sub(/^[^ ]+ +[^ ]+ +/, "", text)
		why[w[1], w[2]] = text
	}
	FS = "|"
}
{ sub(/\r$/, "") }
/^brig-v2: exit/ { complete++ }
$1 != "layers" { next }
$3 == "*" { broken[$2] = 1; next }
$2 == "" { if (!($3 in base)) cases[++n] = $3; base[$3] = $4; next }
{
	if (!($2 in seen)) { seen[$2] = 1; layers[++m] = $2 }
	if (base[$3] != "held") next
	if ($4 == "leaked") {
		leaks[$3] = leaks[$3] (leaks[$3] ? "<br>" : "") "**" $2 "**: " why[$2, $3]
		if (!(($2, $3) in why)) unexplained = unexplained "\n  " $2 " " $3 " (" $5 ")"
		used[$2, $3] = 1
		single++
		by[$2] = by[$2] " " $3
	} else if ($4 == "broken") {
		failed++
		other[$3] = other[$3] (other[$3] ? "<br>" : "") $2 ": not shown, " $5
	} else stopped++
	if ($4 == "otherwise") other[$3] = other[$3] (other[$3] ? "<br>" : "") $2 ": " $5
}
END {
	if (complete < 2 || !m) { print "layers: a machine did not end by itself" >"/dev/stderr"; exit 1 }
	for (k in why) if (!(k in used)) { split(k, w, SUBSEP); unexplained = unexplained "\n  " w[1] " " w[2] " is explained and held" }
	if (unexplained) print "layers: reasons that " alone " lacks or has in excess:" unexplained >"/dev/stderr"
	print "# Layers, one at a time\n"
	print "Written by `make layers`: user-mode Linux, cgroup v2, an agent built with the tag `ablate`, which"
	print "leaves one layer of isolation out at a time and serves nowhere else. Every combination of a case"
	print "and a layer that is not in this table's second column is a case that another layer still stops,"
	print "with the very answer that is documented or, in the third column, with another. Where one layer"
	print "alone stands in a case's way, the second column says what that means and why there is no other.\n"
	printf "%d cases, %d layers: %d combinations still stopped, %d not, %d not shown because brig fails.\n\n", n, m, stopped, single, failed
	print "| case | without this layer, what it asks for is not met | stopped with another answer |\n|---|---|---|"
	for (i = 1; i <= n; i++) {
		c = cases[i]
		if (base[c] != "held") row = "not carried by this machine | -"
		else row = (leaks[c] ? leaks[c] : "none") " | " (other[c] ? other[c] : "-")
		printf "| %s | %s |\n", c, row
	}
	print "\n## The layers\n\n| left out | cases that then are not met |\n|---|---|"
	for (i = 1; i <= m; i++) printf "| %s |%s |\n", layers[i], (broken[layers[i]] ? " (the agent did not end cleanly without it)" : "") (by[layers[i]] ? by[layers[i]] : " none")
	if (unexplained) exit 1
}
