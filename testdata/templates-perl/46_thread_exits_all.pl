use threads; $| = 1; print "start\n"; threads->create(sub { exit 6 })->join; print "not reached\n";
