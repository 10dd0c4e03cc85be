use strict;
use warnings;

my ($a, $b) = map { split } <STDIN>;
print $a + $b, "\n";
