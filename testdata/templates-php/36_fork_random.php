<?php
if (!function_exists("pcntl_fork")) { echo "no pcntl\n"; exit; } mt_srand(1); $p = pcntl_fork(); if ($p) pcntl_wait($s); echo mt_rand(), "\n";
