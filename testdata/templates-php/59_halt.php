<?php
echo file_get_contents(__FILE__, offset: __COMPILER_HALT_OFFSET__); __halt_compiler();DATA after
