use threads; threads->create(sub { threads->exit(); })->join; threads->create(sub { die "in thread\n" })->join; my $t = threads->create(sub { sleep 100 }); $t->detach; print "end\n";
