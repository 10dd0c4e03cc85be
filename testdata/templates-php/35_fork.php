<?php
if (!function_exists("pcntl_fork")) { echo "no pcntl\n"; exit; } $p = pcntl_fork(); if (!$p) { echo "child\n"; exit(5); } pcntl_waitpid($p, $s); var_dump(pcntl_wexitstatus($s));
