package Other;
use strict;
use warnings;

sub text { return 'from another file' }

1;
