# Generates docs/reports/layers.md from the lines "layers|LAYER|CASE|OUTCOME|HOW" of TestLayers and from the
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
	for (k in why) if (!(k in used)) { split(k, w, SUBSEP); unexplained = unexplained "\n  " w[1] " " w[2] " is explained, but the case held" }
	if (unexplained) print "layers: reasons that " alone " lacks or has in excess:" unexplained >"/dev/stderr"
	print "# Layers, one at a time\n"
	print "`make layers` writes this page. It runs the hostile programs in user-mode Linux with cgroup v2,"
	print "under an agent that leaves out one layer of isolation at a time. That agent is built with the tag"
	print "`ablate`, and serves nowhere else."
	print ""
	print "The first table has a row for each case. The second column names each layer without which the case"
	print "does not have its documented outcome. It says what that means, or why there is no second layer. If a"
	print "layer is not in that column, brig still stops the case without it: with the documented answer, or"
	print "with the answer in the third column. `not shown` means that brig itself fails without that layer."
	print ""
	printf "%d cases, %d layers: %d combinations are stopped, %d are not, and %d are not shown.\n\n", n, m, stopped, single, failed
	print "| case | layers without which the outcome differs | stopped with another answer |\n|---|---|---|"
	for (i = 1; i <= n; i++) {
		c = cases[i]
		if (base[c] != "held") row = "this machine cannot run it | -"
		else row = (leaks[c] ? leaks[c] : "none") " | " (other[c] ? other[c] : "-")
		printf "| %s | %s |\n", c, row
	}
	print "\n## The layers\n\n| left out | cases whose outcome then differs |\n|---|---|"
	for (i = 1; i <= m; i++) printf "| %s |%s |\n", layers[i], (broken[layers[i]] ? " (the agent did not end cleanly without it)" : "") (by[layers[i]] ? by[layers[i]] : " none")
	if (unexplained) exit 1
}
