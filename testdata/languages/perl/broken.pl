use strict;
print "never printed\n";
my $x = = 1;
