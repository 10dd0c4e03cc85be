#!/usr/bin/perl -w
my $x; print "a" . $x, "\n"; print $^W, "\n";
