<?php
[$a, $b] = preg_split('/\s+/', trim(stream_get_contents(STDIN)));
echo $a + $b, "\n";
