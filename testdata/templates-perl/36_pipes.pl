open my $p, "|-", "tr a-z A-Z" or die; print $p "upper\n"; close $p;
open $p, "-|", "echo", "a  b" or die; print <$p>; pipe my $r, my $w; print $w "x\n"; close $w; print <$r>;
print system("exit 3") >> 8, " ", system("kill -9 \$\$") & 127, " ", system("/nothing") , " ", $! + 0, "\n";
