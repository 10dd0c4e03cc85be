exec $^X, $0, "again", @ARGV unless $ENV{AGAIN}++;
print "$0 @ARGV\n";
