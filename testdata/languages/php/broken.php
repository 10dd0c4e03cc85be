<?php
echo "never printed\n";
$x = = 1;
