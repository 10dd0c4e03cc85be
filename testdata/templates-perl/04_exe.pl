open my $f, "<", "/proc/self/maps" or die;
my %n; while (<$f>) { $n{$1}++ if m{(/\S+)} }
print join(" ", sort keys %n), "\n";
