<?php
echo "not reached"; class A { final abstract function f(); }
