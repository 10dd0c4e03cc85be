<?php
echo "not reached";
$x = ;
