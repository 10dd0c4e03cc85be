#!/usr/bin/php
<?php echo __LINE__, "\n";
