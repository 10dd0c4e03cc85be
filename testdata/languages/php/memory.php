<?php
$kept = [];
for (;;) {
    $kept[] = str_repeat('x', 1000000);
}
