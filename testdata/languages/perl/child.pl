use strict;
use warnings;

open my $child, '-|', 'echo', 'from a child' or die "start echo: $!";
print <$child>;
close $child or die "echo: $?";
