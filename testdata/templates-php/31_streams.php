<?php
fwrite(STDERR, "err\n"); fwrite(STDOUT, "out\n"); echo "echo\n"; file_put_contents("php://stderr", "more\n"); print "no newline"; system("printf child"); flush();
