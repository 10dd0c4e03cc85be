use strict;
use warnings;
use threads;

threads->create(sub { print "from a thread\n" })->join;
