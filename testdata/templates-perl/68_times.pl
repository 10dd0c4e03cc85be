my ($u, $s) = times; print $u < 1 ? "small\n" : "large\n"; use Time::HiRes qw(sleep time); my $t = time; sleep 0.05; print time - $t >= 0.05 ? 1 : 0, "\n";
