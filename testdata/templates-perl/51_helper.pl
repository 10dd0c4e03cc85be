use lib "."; require "./helper.pl"; print helper("x"), "\n"; print do "./helper.pl"; print "$INC{'./helper.pl'}\n";
