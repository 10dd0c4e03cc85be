my @a = map { ($_ * 7919) % 100003 } 1 .. 20000; @a = sort { $a <=> $b } @a; print "$a[0] $a[-1]\n"; print join(",", sort { $b cmp $a } qw(b a c)), "\n";
