my $x = "a" x 50_000_000; print length $x, "\n"; my @l = (1 .. 500000); print scalar @l, "\n"; undef @l; undef $x;
