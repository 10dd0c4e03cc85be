#!/usr/bin/ruby -w
p $VERBOSE, __LINE__
