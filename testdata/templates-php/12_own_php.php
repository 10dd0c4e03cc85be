<?php
echo shell_exec(PHP_BINARY . " -r 'echo PHP_BINARY, \$argc, 1 + 1;'"), shell_exec("php -v | head -1"); passthru(PHP_BINARY . " helper.php a b");
