END { print "not shown\n" } $| = 1; print "before\n"; kill TERM => $$; sleep 5;
