$ENV{TZ} = "Asia/Tokyo"; use POSIX qw(tzset tzname); print scalar(localtime 0), "\n"; tzset; print scalar(localtime 0), " @{[tzname]}\n";
