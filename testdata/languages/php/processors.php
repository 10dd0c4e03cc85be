<?php
echo "processors ", preg_match_all('/^processor\s*:/m', file_get_contents('/proc/cpuinfo')), "\n";
