<?php
echo fgets(STDIN), stream_get_contents(STDIN); var_dump(feof(STDIN), file_get_contents("php://stdin"), stream_isatty(STDIN), (int) STDIN, (int) STDERR);
