<?php
register_shutdown_function(function () { print_r(error_get_last()); });
function f() { nothing(); } f();
