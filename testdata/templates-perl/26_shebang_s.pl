#!/usr/bin/perl -l -n
print "<$_>" if $. < 3;
