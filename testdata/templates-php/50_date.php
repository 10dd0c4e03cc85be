<?php
echo date("Y-m-d", 0), date_default_timezone_get(), "\n"; date_default_timezone_set("Asia/Tokyo"); echo date("H", 0), "\n"; echo (new DateTime("2000-01-31 +1 month", new DateTimeZone("Europe/Prague")))->format(DATE_ATOM), "\n"; var_dump(abs(time() - (new DateTime)->getTimestamp()) <= 1, checkdate(2, 30, 2000), mktime(0, 0, 0, 1, 1, 2000));
