<?php
set_time_limit(1); register_shutdown_function(function () { echo "shutdown\n"; }); for (;;);
