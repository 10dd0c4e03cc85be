#!/usr/bin/perl -T
print "tainted\n";
