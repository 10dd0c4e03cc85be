use strict;
use warnings;
use lib '.';
use Other;

print '7 ', Other::text(), "\n";
