open my $f, '<', '/proc/cpuinfo' or die "cpuinfo: $!";
my $n = grep { /^processor\s*:/ } <$f>;
print "processors $n\n";
