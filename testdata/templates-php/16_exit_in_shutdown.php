<?php
register_shutdown_function(function () { echo "one\n"; exit(4); }); register_shutdown_function(function () { echo "two\n"; }); echo "last\n";
