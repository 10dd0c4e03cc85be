<?php
echo "a
b";
