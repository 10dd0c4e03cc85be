@ARGV = (); while (<>) { print "$ARGV:$.:$_" }
