<?php
if (!function_exists("pcntl_signal")) { echo "no pcntl\n"; exit; } pcntl_async_signals(true); pcntl_signal(SIGUSR1, function ($n) { echo "got $n\n"; }); posix_kill(posix_getpid(), SIGUSR1); usleep(1000); var_dump(pcntl_signal_get_handler(SIGINT));
