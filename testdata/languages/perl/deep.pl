use strict; use warnings; no warnings 'recursion';
sub deep { my $n = shift; return $n == 0 ? 0 : 1 + deep($n - 1) }
print deep(100000), "\n";
