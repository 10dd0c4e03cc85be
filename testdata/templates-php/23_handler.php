<?php
set_error_handler(function ($n, $m, $f, $l) { echo "handler $n $m ", basename($f), " $l\n"; return true; }); set_exception_handler(function ($e) { echo get_class($e), $e->getMessage(), "\n"; debug_print_backtrace(); });
echo $x; $y = "a" + 1;
