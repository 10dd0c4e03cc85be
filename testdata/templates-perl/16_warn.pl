$SIG{__WARN__} = sub { print "W: $_[0]" };
use warnings; my $x; my $y = "$x"; warn "own"; print undef + 1, "\n";
