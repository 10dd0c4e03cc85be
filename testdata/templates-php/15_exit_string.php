<?php
exit("message\n");
