my $first = <STDIN>; chomp $first; my @rest = <STDIN>; print "$first @rest"; print eof(STDIN) ? "eof\n" : "more\n";
