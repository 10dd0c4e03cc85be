my $p = fork; if (!$p) { print "child\n"; exit 5 } waitpid $p, 0; print $? >> 8, "\n";
for my $i (1 .. 5) { next if fork; exit $i } my $s = 0; $s += $? >> 8 while wait > 0; print "$s\n";
