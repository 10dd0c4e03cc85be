sysread STDIN, my $b, 3; print "$b\n"; read STDIN, $b, 100; print $b;
