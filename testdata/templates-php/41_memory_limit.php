<?php
ini_set("memory_limit", "32M"); register_shutdown_function(function () { echo "shutdown\n"; }); $a = []; while (true) $a[] = str_repeat("x", 100000);
