open STDOUT, ">", "/dev/full"; print "x"; close STDOUT or die "close: $!";
