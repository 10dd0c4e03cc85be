$0 = "another name";
open my $f, "<", "/proc/self/cmdline"; local $/; my $c = <$f>; $c =~ s/\0+$//; print "$c\n";
open $f, "<", "/proc/self/comm"; print <$f>;
$0 = "x" x 300;
open $f, "<", "/proc/self/cmdline"; $c = <$f>; $c =~ s/\0+$//; print length $c, "\n";
print "$ENV{PATH}\n", `echo \$PATH`;
