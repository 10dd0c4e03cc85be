open my $p, "|-", "true" or die; $SIG{PIPE} = sub { print "pipe\n" }; sleep 1; print $p "x" x 100000; close $p; print "end\n";
