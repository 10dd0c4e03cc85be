<?php
register_shutdown_function(function () { echo "shutdown\n"; });
ob_start(); echo "buffered\n"; exit(3);
