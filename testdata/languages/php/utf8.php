<?php
echo "grün 日本 😀\n";
$line = fgets(STDIN);
assert(mb_strlen(rtrim($line)) === 13);
echo $line;
