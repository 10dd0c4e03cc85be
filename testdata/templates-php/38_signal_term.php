<?php
register_shutdown_function(function () { echo "not shown\n"; }); echo "before\n"; posix_kill(getmypid(), 15); sleep(5);
