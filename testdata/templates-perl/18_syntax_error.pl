print "not reached\n";
my $x = ;
