<?php
require 'other.php';

echo '7 ' . text() . "\n";
