print "main ${^GLOBAL_PHASE}\n";
BEGIN { print "begin ${^GLOBAL_PHASE}\n" } UNITCHECK { print "unitcheck\n" } CHECK { print "check\n" } INIT { print "init\n" } END { print "end ${^GLOBAL_PHASE}\n" }
