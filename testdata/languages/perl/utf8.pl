use strict;
use warnings;
use utf8;
use open qw(:std :encoding(UTF-8));

print "grün 日本 😀\n";
my $line = <STDIN>;
chomp $line;
die 'read ' . length $line unless length $line == 13;
print "$line\n";
