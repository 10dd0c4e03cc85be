<?php
fclose(STDOUT); echo "lost\n"; var_dump(@fwrite(STDERR, "still\n"));
