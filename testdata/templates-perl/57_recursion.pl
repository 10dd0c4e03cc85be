no warnings "recursion"; sub f { $_[0] ? 1 + f($_[0] - 1) : 0 } print f(50000), "\n"; my $s = "(" x 1000 . ")" x 1000; my $re; $re = qr/\((??{$re})*\)/; print "a" x 30000 =~ /^(a|b)*$/ ? 1 : 0, "\n";
